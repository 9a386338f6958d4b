//! The walk through a module, and what is marked on it.

use super::lists::{self, Module, Use};
use super::names::{MAX_NAME, Names, text};
use super::{Surroundings, start, stdlib};
use crate::skill::finding::shown;
use crate::skill::rules::{self, Rule};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, ExprContext, InterpolatedStringElement, Operator, Stmt, StmtTry};

/// A place and what is wrong there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at: usize,
    pub(super) rule: &'static Rule,
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

/// Marks of a module, in no order.
pub(super) fn marks(body: &[Stmt], around: &Surroundings) -> Vec<Mark> {
    let names = Names::of(body);
    let mut walk = Walk { names, around, marks: Vec::new(), guarded: 0 };
    walk.visit_body(body);
    walk.marks
}

struct Walk<'a> {
    names: Names<'a>,
    around: &'a Surroundings,
    marks: Vec<Mark>,
    /// Depth of `try` blocks that handle a failing import.
    guarded: usize,
}

impl<'a> Walk<'a> {
    fn mark(&mut self, rule: &'static Rule, at: usize, what: String, hint: Option<&str>) {
        // More marks than anybody reads are not kept; the walk itself stays linear.
        if self.marks.len() < 10_000 {
            self.marks.push(Mark { at, rule, what, hint: hint.map(str::to_owned) });
        }
    }

    /// An import of a dotted path. `member` says that its last part may be a name in a module rather than a module.
    fn import(&mut self, path: &str, at: usize, member: bool) {
        let name = shown(path);
        match lists::module(path) {
            Module::Forbidden => self.mark(&rules::IMPORT_FORBIDDEN, at, format!("imports {name}"), None),
            Module::Network => self.mark(&rules::IMPORT_NETWORK, at, format!("imports {name}"), None),
            Module::Egress if !self.around.egress => {
                let hint = "if the script needs it, say \"network\": \"egress\" in xray.json";
                self.mark(&rules::IMPORT_NETWORK, at, format!("imports {name}"), Some(hint));
            }
            Module::Egress | Module::Plain => self.absent(path, at),
        }
        if !member {
            return;
        }
        if path == "sys.argv" {
            self.argv(at, "imports sys.argv");
        }
        match lists::usage(path) {
            Some(Use::Process) => self.mark(&rules::CALL_PROCESS, at, format!("imports {name}"), None),
            Some(Use::Eval | Use::Dynamic) | None => {}
        }
    }

    fn absent(&mut self, path: &str, at: usize) {
        let top = path.split('.').next().unwrap_or_default();
        let there = |runtime: &std::collections::BTreeSet<String>| {
            runtime.contains(top) || self.around.local.contains(top) || stdlib::holds(top)
        };
        if self.guarded == 0 && self.around.runtime.as_ref().is_some_and(|runtime| !there(runtime)) {
            let hint =
                "build a runtime that has it: skilljail runtime build --requirements SET|FILE --out DIR";
            self.mark(
                &rules::IMPORT_ABSENT,
                at,
                format!("imports {}, which the runtime lacks", shown(top)),
                Some(hint),
            );
        }
    }

    fn argv(&mut self, at: usize, what: &str) {
        let hint = "read the input: json.load(sys.stdin)";
        self.mark(&rules::READS_ARGV, at, what.to_owned(), Some(hint));
    }

    /// A name or attribute that is read.
    fn usage(&mut self, expr: &'a Expr) {
        let Some(path) = self.names.path(expr) else { return };
        if lists::usage(&path) == Some(Use::Process) {
            self.mark(&rules::CALL_PROCESS, start(expr), format!("uses {}", shown(&path)), None);
        } else if path == "sys.argv" {
            self.argv(start(expr), "reads sys.argv");
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        let at = start(call);
        let path = self.names.path(&call.func);
        match path.as_deref().and_then(lists::usage) {
            Some(Use::Eval) => {
                self.mark(&rules::CALL_EVAL, at, format!("calls {}", shown(plain(path.as_deref()))), None);
            }
            Some(Use::Dynamic) => {
                if let Some(module) = call.arguments.args.first().and_then(text) {
                    self.import(module, at, false);
                } else {
                    let what =
                        format!("{} with a name that is made at run time", shown(plain(path.as_deref())));
                    self.mark(&rules::IMPORT_DYNAMIC, at, what, None);
                }
            }
            // Marked as it is used; `getattr(os, "system")` is used here.
            Some(Use::Process) | None => {}
        }
        match path.as_deref() {
            Some("os.getenv" | "os.environb.get" | "os.environ.get") => {
                self.variable(call.arguments.args.first(), at);
            }
            Some("builtins.getattr") => self.usage_of_call(call),
            Some("argparse.ArgumentParser.parse_args") if call.arguments.args.is_empty() => {
                self.argv(at, "parses arguments");
            }
            Some(path) => self.writes(path, call),
            None => {}
        }
        self.method(call);
    }

    fn usage_of_call(&mut self, call: &'a ExprCall) {
        let [object, name, ..] = &*call.arguments.args else { return };
        if let (Some(base), Some(name)) = (self.names.path(object), text(name)) {
            let path = format!("{base}.{name}");
            if lists::usage(&path) == Some(Use::Process) {
                self.mark(&rules::CALL_PROCESS, start(call), format!("uses {}", shown(&path)), None);
            }
        }
    }

    /// A variable of the environment that is read; `None`, or no literal: any of them.
    fn variable(&mut self, key: Option<&'a Expr>, at: usize) {
        let key = key.and_then(text);
        let known = |key: &str| self.around.declared.contains(key) || lists::set_by_jail(key);
        if key.is_some_and(known) {
            return;
        }
        let what = key.map_or_else(
            || "reads variables whose names are not written out".to_owned(),
            |key| format!("reads {}, which is not declared", shown(key)),
        );
        self.mark(
            &rules::READS_ENVIRON,
            at,
            what,
            Some("declare it in .skillenv: KEY=value, or KEY= for a secret"),
        );
    }

    fn writes(&mut self, path: &str, call: &'a ExprCall) {
        let argument = |at: usize, name: &str| {
            call.arguments
                .args
                .get(at)
                .or_else(|| call.arguments.find_keyword(name).map(|keyword| &keyword.value))
        };
        let target = match path {
            "builtins.open" | "io.open" | "codecs.open" | "gzip.open" | "bz2.open" | "lzma.open" => {
                let mode = argument(1, "mode").and_then(text).unwrap_or_default();
                if !writing(mode) {
                    return;
                }
                argument(0, "file")
            }
            path => lists::writes(path).and_then(|at| call.arguments.args.get(at)),
        };
        if let Some(place) = target.and_then(|target| self.beginning(target, 8)) {
            self.outside(&place, start(call));
        }
    }

    /// `Path("/x").write_text(…)`, and `parse_args()` of whatever argparse made.
    fn method(&mut self, call: &'a ExprCall) {
        let Expr::Attribute(attribute) = &*call.func else { return };
        let name = attribute.attr.as_str();
        if name == "parse_args" && call.arguments.args.is_empty() && self.names.imported("argparse") {
            return self.argv(start(call), "parses arguments");
        }
        let first = call.arguments.args.first().and_then(text).unwrap_or_default();
        if (lists::writing_method(name) || name == "open" && writing(first))
            && self.is_path(&attribute.value, 8)
            && let Some(place) = self.beginning(&attribute.value, 8)
        {
            self.outside(&place, start(call));
        }
    }

    fn outside(&mut self, place: &str, at: usize) {
        if place.starts_with('/') && !lists::writable(place) {
            let hint = "artifacts go to /workdir/out, temporary files to /tmp";
            self.mark(&rules::WRITE_OUTSIDE, at, format!("writes to {}", shown(place)), Some(hint));
        }
    }

    /// Whether an expression is a `pathlib.Path`.
    fn is_path(&self, expr: &'a Expr, steps: usize) -> bool {
        match (steps.checked_sub(1), expr) {
            (Some(steps), Expr::BinOp(sum)) => self.is_path(&sum.left, steps),
            (Some(_), _) => self.names.path(expr).as_deref() == Some("pathlib.Path"),
            (None, _) => false,
        }
    }

    /// The literal text with which a path begins.
    fn beginning(&self, expr: &'a Expr, steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        match expr {
            Expr::StringLiteral(literal) => Some(head(literal.value.to_str())),
            Expr::FString(format) => match format.value.elements().next()? {
                InterpolatedStringElement::Literal(literal) => Some(head(&literal.value)),
                InterpolatedStringElement::Interpolation(_) => None,
            },
            Expr::BinOp(sum) if sum.op == Operator::Add => self.beginning(&sum.left, steps),
            Expr::BinOp(sum) if sum.op == Operator::Div => {
                let left = self.beginning(&sum.left, steps)?;
                Some(match text(&sum.right) {
                    Some(right) if right.starts_with('/') => right.to_owned(),
                    Some(right) => format!("{left}/{right}"),
                    None => left,
                })
            }
            Expr::Call(call) => match self.names.path(&call.func).as_deref() {
                Some("pathlib.Path" | "pathlib.PosixPath" | "os.path.join" | "os.fspath") => {
                    self.beginning(call.arguments.args.first()?, steps)
                }
                _ => None,
            },
            Expr::Name(name) => {
                self.names.alias(name.id.as_str()).and_then(|value| self.beginning(value, steps))
            }
            _ => None,
        }
    }

    /// `os.environ` in an expression that is not one of its harmless uses.
    fn environ(&mut self, expr: &'a Expr) -> bool {
        match expr {
            Expr::Subscript(subscript) if self.is_environ(&subscript.value) => {
                if subscript.ctx == ExprContext::Load {
                    self.variable(Some(&subscript.slice), start(expr));
                }
                self.visit_expr(&subscript.slice);
                true
            }
            Expr::Attribute(attribute) if self.is_environ(&attribute.value) => {
                // `get` is judged with its argument; writing is no reading.
                if !matches!(attribute.attr.as_str(), "get" | "setdefault" | "update" | "pop" | "clear") {
                    self.variable(None, start(expr));
                }
                true
            }
            Expr::Compare(compare) if compare.comparators.iter().any(|side| self.is_environ(side)) => {
                self.variable(Some(&compare.left), start(expr));
                self.visit_expr(&compare.left);
                true
            }
            _ if self.is_environ(expr) => {
                self.variable(None, start(expr));
                true
            }
            _ => false,
        }
    }

    fn is_environ(&self, expr: &'a Expr) -> bool {
        matches!(expr, Expr::Name(_) | Expr::Attribute(_))
            && matches!(self.names.path(expr).as_deref(), Some("os.environ" | "os.environb"))
    }
}

/// As much of a path as decides where it leads.
fn head(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

/// Whether a `try` handles the failure of an import.
fn guards_imports(stmt: &StmtTry) -> bool {
    stmt.handlers.iter().any(|handler| {
        let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
        let names = |expr: &Expr| matches!(expr, Expr::Name(name) if matches!(name.id.as_str(), "ImportError" | "ModuleNotFoundError" | "Exception"));
        match handler.type_.as_deref() {
            None => true,
            Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(names),
            Some(expr) => names(expr),
        }
    })
}

fn plain(path: Option<&str>) -> &str {
    path.map_or("", |path| path.strip_prefix("builtins.").unwrap_or(path))
}

fn writing(mode: &str) -> bool {
    mode.contains(['w', 'a', 'x', '+'])
}

impl<'a> Visitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.import(alias.name.as_str(), start(alias), false);
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                // `from http import client` is about http.client, `from socket import AF_INET` about socket.
                for alias in &import.names {
                    let path = if alias.name.as_str() == "*" {
                        module.to_owned()
                    } else {
                        format!("{module}.{}", alias.name)
                    };
                    self.import(&path, start(alias), true);
                }
            }
            Stmt::Try(guard) if guards_imports(guard) => {
                self.guarded += 1;
                self.visit_body(&guard.body);
                self.guarded -= 1;
                for handler in &guard.handlers {
                    self.visit_except_handler(handler);
                }
                self.visit_body(&guard.orelse);
                self.visit_body(&guard.finalbody);
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.environ(expr) {
            return;
        }
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => self.usage(expr),
            Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load => self.usage(expr),
            Expr::Subscript(_) => self.usage(expr),
            Expr::Call(call) => self.call(call),
            _ => {}
        }
        walk_expr(self, expr);
    }
}
