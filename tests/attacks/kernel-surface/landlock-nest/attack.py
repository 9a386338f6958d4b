from kit import *

attributes = struct.pack("Q", 1)
with attempt("landlock_create_ruleset"):
    reached("a ruleset", call("landlock_create_ruleset", attributes, 8, 0))
