"""Runs one module of CPython's own tests and writes what each test came to.

Inside the jail as a skill's script, outside as the control: the same file, the same flags. Arguments: the folder for
`result.json`, and the folder of what was handed in; those of the jail when there are none.
"""
import doctest
import json
import os
import sys
import types
import unittest

OUT, IN = sys.argv[1:] or ("/workdir/out", "/workdir/in")


class Elsewhere(Exception):
    """The test wants an interpreter of its own."""


class Noted(unittest.TestResult):
    """Notes each test that did not pass, by its id."""

    def __init__(self):
        super().__init__()
        self.ids = set()
        self.notes = {}

    def startTest(self, test):
        super().startTest(test)
        self.ids.add(test.id())

    def note(self, kind, test, why):
        # A subtest belongs to its test.
        test = getattr(test, "test_case", test)
        self.notes.setdefault(test.id(), [kind, why.strip().splitlines()[-1][:300]])

    def addError(self, test, err):
        kind = "elsewhere" if issubclass(err[0], Elsewhere) else "error"
        self.note(kind, test, self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.note("failure", test, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)

    def addSkip(self, test, reason):
        self.note("skip", test, reason)

    def addExpectedFailure(self, test, err):
        pass

    def addUnexpectedSuccess(self, test):
        self.note("failure", test, "unexpected success")


def handed_in(name, otherwise):
    try:
        with open(os.path.join(IN, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return otherwise


def ask_elsewhere(answers, wanted):
    """Has the tests ask us for a fresh interpreter: what they would start, a jail of its own runs."""
    from test.support import script_helper
    start = script_helper.run_python_until_end

    def run_python_until_end(*args, **environment):
        if len(args) != 2 or args[0] != "-c" or environment:
            return start(*args, **environment)
        question = args[1]
        if question not in answers:
            wanted.append(question)
            raise Elsewhere("an interpreter of its own")
        code, out, err = answers[question]
        return script_helper._PythonRunResult(code, out.encode(), err.encode()), list(args)

    script_helper.run_python_until_end = run_python_until_end


def lend_constants():
    """The tests of sqlite3 take two bounds of C types from a test module that a runtime has not; no test is of it."""
    try:
        import _testcapi
    except ImportError:
        lent = types.ModuleType("_testcapi")
        lent.INT_MAX, lent.ULLONG_MAX = 2**31 - 1, 2**64 - 1
        sys.modules["_testcapi"] = lent


def load(name, only, result):
    """Runs the tests of a module as CPython's own runner would, into `result`."""
    loader = unittest.defaultTestLoader
    if only:
        return loader.loadTestsFromNames(only).run(result)
    module = __import__("test." + name, fromlist=["test"])
    if not hasattr(module, "test_main"):
        return loader.loadTestsFromModule(module).run(result)
    # It builds tests as it goes, and would run them with a runner that prints.
    module.run_unittest = lambda *classes: unittest.TestSuite(
        loader.loadTestsFromTestCase(one) for one in classes).run(result)
    module.run_doctest = lambda module, verbosity=None, optionflags=0: doctest.DocTestSuite(
        module, optionflags=optionflags).run(result)
    module.test_main()


def main():
    asked = json.load(sys.stdin)
    import test.support
    # All but what fetches from the network, which a control must not do either.
    test.support.use_resources = ["cpu", "decimal", "largefile", "subprocess", "tzdata", "walltime"]
    if asked["module"] == "test_sqlite3":
        lend_constants()
    answers, wanted, result = handed_in("answers.json", None), [], Noted()
    if answers is not None:
        ask_elsewhere(answers, wanted)
    load(asked["module"], handed_in("only.json", []), result)
    with open(os.path.join(OUT, "result.json"), "w") as file:
        json.dump({"ran": sorted(result.ids), "notes": result.notes, "wanted": wanted}, file)


main()
