//! What names in a script stand for: imports, aliases, and the usual ways around them.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use std::collections::{HashMap, HashSet};

/// Dotted paths are kept up to this length.
pub(super) const MAX_NAME: usize = 256;
/// Aliases of aliases are followed this far.
const MAX_STEPS: usize = 16;

/// The names of one module, wherever in it they are bound: the order of execution is not followed.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// What `import` made of a name.
    imports: HashMap<&'a str, String>,
    /// `name = expression`, the first one.
    aliases: HashMap<&'a str, &'a Expr>,
    /// Bound by `def`, `class` or a parameter.
    own: HashSet<&'a str>,
    /// Top-level modules that are imported.
    modules: HashSet<&'a str>,
    /// Modules from which everything was imported.
    stars: Vec<String>,
}

impl<'a> Names<'a> {
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut names = Self::default();
        names.visit_body(body);
        names
    }

    /// The dotted path that an expression stands for: `os.system` for `o.system` after `import os as o`.
    pub(super) fn path(&self, expr: &'a Expr) -> Option<String> {
        self.path_in(expr, MAX_STEPS)
    }

    /// The expression that a name was first made to stand for.
    pub(super) fn alias(&self, name: &str) -> Option<&'a Expr> {
        self.aliases.get(name).copied()
    }

    /// Whether a top-level module, or something in it, is imported.
    pub(super) fn imported(&self, module: &str) -> bool {
        self.modules.contains(module)
    }

    fn path_in(&self, expr: &'a Expr, steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        match expr {
            Expr::Name(name) => self.name(name.id.as_str(), steps),
            Expr::Attribute(attribute) => {
                let base = self.path_in(&attribute.value, steps)?;
                join(&base, attribute.attr.as_str())
            }
            Expr::Call(call) => {
                let function = self.path_in(&call.func, steps)?;
                let first = call.arguments.args.first();
                let literal = |at: usize| call.arguments.args.get(at).and_then(text);
                match function.as_str() {
                    "builtins.__import__" | "importlib.__import__" => {
                        // `__import__("a.b")` is `a`.
                        literal(0).and_then(|path| path.split('.').next()).map(str::to_owned)
                    }
                    "importlib.import_module" => literal(0).map(str::to_owned),
                    "builtins.getattr" => join(&self.path_in(first?, steps)?, literal(1)?),
                    "builtins.vars" => join(&self.path_in(first?, steps)?, "__dict__"),
                    // An instance: its methods are those of the class.
                    "pathlib.Path" | "pathlib.PosixPath" => Some("pathlib.Path".to_owned()),
                    _ => None,
                }
            }
            Expr::Subscript(subscript) => {
                let key = text(&subscript.slice)?;
                let base = self.path_in(&subscript.value, steps)?;
                match base.as_str() {
                    "sys.modules" => Some(key.to_owned()),
                    "builtins" => join(&base, key),
                    base => base.strip_suffix(".__dict__").and_then(|base| join(base, key)),
                }
            }
            Expr::Named(named) => self.path_in(&named.value, steps),
            _ => None,
        }
    }

    fn name(&self, name: &str, steps: usize) -> Option<String> {
        if let Some(path) = self.imports.get(name) {
            return Some(path.clone());
        }
        if let Some(value) = self.aliases.get(name).copied()
            && let Some(path) = self.path_in(value, steps)
        {
            return Some(path);
        }
        if self.own.contains(name) {
            return None;
        }
        if let Some(star) = self
            .stars
            .iter()
            .find_map(|star| join(star, name).filter(|path| super::lists::usage(path).is_some()))
        {
            return Some(star);
        }
        match name {
            "__builtins__" => Some("builtins".to_owned()),
            "eval" | "exec" | "compile" | "open" | "__import__" | "getattr" | "vars" => {
                Some(format!("builtins.{name}"))
            }
            _ => None,
        }
    }
}

fn join(base: &str, name: &str) -> Option<String> {
    // `builtins.__dict__["eval"]` and `__builtins__.eval` are one thing.
    let base = base.strip_suffix(".__dict__").unwrap_or(base);
    (base.len() + name.len() < MAX_NAME).then(|| format!("{base}.{name}"))
}

/// The value of a string literal of a length that names have. Longer ones are no names, and would be copied for each use.
pub(super) fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(literal) => Some(literal.value.to_str()).filter(|text| text.len() <= MAX_NAME),
        _ => None,
    }
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = alias.name.as_str();
                    let (name, path) = match &alias.asname {
                        Some(name) => (name.as_str(), path),
                        // `import a.b` binds `a`.
                        None => path.split_once('.').map_or((path, path), |(top, _)| (top, top)),
                    };
                    self.modules.insert(path.split('.').next().unwrap_or_default());
                    if path.len() <= MAX_NAME {
                        self.imports.insert(name, path.to_owned());
                    }
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                self.modules.insert(module.split('.').next().unwrap_or_default());
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        // Each is asked for every unknown name, so there is a bound.
                        if self.stars.len() < 16 {
                            self.stars.push(module.to_owned());
                        }
                    } else {
                        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                        self.imports.extend(join(module, alias.name.as_str()).map(|path| (name, path)));
                    }
                }
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    if let Expr::Name(name) = target {
                        self.aliases.entry(name.id.as_str()).or_insert(&assign.value);
                    }
                }
            }
            Stmt::AnnAssign(assign) => {
                if let (Expr::Name(name), Some(value)) = (&*assign.target, &assign.value) {
                    self.aliases.entry(name.id.as_str()).or_insert(value);
                }
            }
            Stmt::FunctionDef(function) => {
                self.own.insert(function.name.as_str());
                for parameter in &*function.parameters {
                    self.own.insert(parameter.name().as_str());
                }
            }
            Stmt::ClassDef(class) => {
                self.own.insert(class.name.as_str());
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Named(named) = expr
            && let Expr::Name(name) = &*named.target
        {
            self.aliases.entry(name.id.as_str()).or_insert(&named.value);
        }
        ruff_python_ast::visitor::walk_expr(self, expr);
    }
}
