//! A policy's sheet as one self-contained page: a picture of the layers around the process, the sentences, the tables. No
//! script, nothing from a network; light and dark, and readable when printed.

use crate::audit::sheet::{Proof, Section, Sentence, Sheet, Table};
use crate::render::text::xml;
use std::fmt::Write as _;

const STYLE: &str = include_str!("html/style.css");

/// The page.
pub fn page(sheet: &Sheet) -> String {
    let name = xml(&sheet.policy);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>skilljail policy {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">skilljail policy</p>\n<h1>{name}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
        xml(&sheet.description)
    );
    contents(sheet, &mut out);
    out.push_str("<section id=\"picture\">\n<h2>The walls around the script</h2>\n");
    picture(sheet, &mut out);
    out.push_str(
        "</section>\n<section id=\"sentences\">\n<h2>What matters first</h2>\n<ol class=\"claims\">\n",
    );
    for one in &sheet.sentences {
        sentence(one, &mut out);
    }
    out.push_str("</ol>\n</section>\n");
    for one in &sheet.sections {
        section(one, &mut out);
    }
    out.push_str("<section id=\"identity\">\n<h2>Identity</h2>\n<dl>\n");
    for (name, value) in &sheet.facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", xml(name), xml(value));
    }
    out.push_str("</dl>\n</section>\n</main>\n</body>\n</html>\n");
    out
}

fn contents(sheet: &Sheet, out: &mut String) {
    out.push_str("<nav aria-label=\"Contents\"><a href=\"#picture\">picture</a> <a href=\"#sentences\">what matters first</a>");
    for section in &sheet.sections {
        let _ = write!(out, " <a href=\"#{0}\">{0}</a>", xml(section.name));
    }
    out.push_str(" <a href=\"#identity\">identity</a></nav>\n");
}

fn sentence(sentence: &Sentence, out: &mut String) {
    let (class, mark) = if sentence.holds { ("holds", "holds") } else { ("broken", "does not hold") };
    let _ = writeln!(
        out,
        "<li class=\"{class}\" id=\"s-{}\">\n<p class=\"claim\"><span class=\"mark\">{mark}</span> {}</p>",
        xml(sentence.id),
        xml(&sentence.text)
    );
    if let Some(why) = &sentence.broken {
        let _ = writeln!(out, "<p class=\"why\">{}</p>", xml(why));
    }
    if !sentence.by.is_empty() {
        if !sentence.holds {
            out.push_str("<p class=\"why\">What is left:</p>\n");
        }
        out.push_str("<ul class=\"by\">\n");
        for wall in &sentence.by {
            let _ = writeln!(out, "<li><b>{}</b> {}</li>", xml(wall.layer), xml(&wall.how));
        }
        out.push_str("</ul>\n");
    }
    let words = |wanted: bool| -> Vec<String> {
        let some = sentence.proof.iter().filter_map(|proof| match proof {
            Proof::Guarantee(words) if wanted => Some(words.as_str()),
            Proof::Test(place) if !wanted => Some(*place),
            _ => None,
        });
        some.map(|words| format!("<code>{}</code>", xml(words))).collect()
    };
    for (title, list) in [("Proven for every input", words(true)), ("Tried on a kernel", words(false))] {
        if !list.is_empty() {
            let _ = writeln!(out, "<p class=\"proof\"><span>{title}:</span> {}</p>", list.join(" "));
        }
    }
    out.push_str("</li>\n");
}

fn section(section: &Section, out: &mut String) {
    let _ = writeln!(
        out,
        "<section id=\"{0}\">\n<h2>{0}</h2>\n<p>{1}</p>",
        xml(section.name),
        xml(&section.about)
    );
    for one in &section.tables {
        table(one, out);
    }
    out.push_str("</section>\n");
}

fn table(table: &Table, out: &mut String) {
    if !table.title.is_empty() {
        let _ = writeln!(out, "<h3>{}</h3>", xml(&table.title));
    }
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for head in &table.head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", xml(head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let mut above: Option<&String> = None;
    for row in &table.rows {
        let repeated = row.len() > 3 && above == row.first();
        out.push_str(if repeated { "<tr class=\"same\">" } else { "<tr>" });
        for (index, cell) in row.iter().enumerate() {
            let text = if index == 0 && repeated { String::new() } else { xml(cell) };
            let _ = write!(out, "<td>{text}</td>");
        }
        out.push_str("</tr>\n");
        above = row.first();
    }
    out.push_str("</tbody>\n</table></div>\n");
}

/// A wall of the picture: the layer, and what it holds back in a few words.
const WALLS: [(&str, &str); 7] = [
    ("idmap", "namespaces of its own: uid 1000 inside, no other process"),
    ("mounts", "a root of its own: the host's files are not there"),
    ("net", "a network of its own"),
    ("rlimits", "time, memory, threads and files are bounded"),
    ("privs", "no capability, no way to get one"),
    ("landlock", "rights path by path"),
    ("seccomp", "an allow-list of system calls"),
];

/// Nested boxes from the host to the script, the outermost first; each box links to its section.
fn picture(sheet: &Sheet, out: &mut String) {
    const WIDE: i32 = 920;
    const STEP: i32 = 34;
    const TOP: i32 = 16;
    const SCRIPT: i32 = 68;
    const BELOW: i32 = 13;
    // The script's lower edge; each wall lies a little below the one inside it, and the host's name below them all.
    let bottom = TOP + 7 * STEP + SCRIPT;
    let height = bottom + 7 * BELOW + 26;
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDE} {height}\" role=\"img\" aria-label=\"Seven walls, one inside the other, around the script of a skill\">"
    );
    let _ = writeln!(out, "<text class=\"host\" x=\"{}\" y=\"{}\">the host</text>", WIDE - 70, height - 6);
    for (depth, (layer, words)) in (0..).zip(WALLS) {
        let (x, y) = (8 + depth * 22, TOP + depth * STEP);
        let (w, h) = (WIDE - 2 * x, bottom + (7 - depth) * BELOW - y);
        let words = match sheet.sections.iter().find(|section| section.name == layer) {
            Some(section) if layer == "net" && section.about.starts_with("egress") => {
                "no way out but through the supervisor, to what the policy lists".to_owned()
            }
            Some(section) if layer == "net" => {
                section.about.split(['.', ';']).next().unwrap_or(words).to_owned()
            }
            _ => words.to_owned(),
        };
        let _ = writeln!(
            out,
            "<a href=\"#{layer}\"><rect class=\"wall d{depth}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"9\"/>\
             <text x=\"{}\" y=\"{}\"><tspan class=\"name\">{layer}</tspan><tspan dx=\"10\">{}</tspan></text></a>",
            x + 14,
            y + 22,
            xml(&words)
        );
    }
    let (x, y) = (8 + 7 * 22, TOP + 7 * STEP);
    let _ = writeln!(
        out,
        "<rect class=\"script\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{SCRIPT}\" rx=\"9\"/>\
         <text class=\"centre\" x=\"{}\" y=\"{}\"><tspan class=\"name\">the script</tspan></text>\
         <text class=\"centre\" x=\"{}\" y=\"{}\">reads its skill and its input, writes /workdir, answers on stdout</text>",
        WIDE - 2 * x,
        WIDE / 2,
        y + 27,
        WIDE / 2,
        y + 48
    );
    out.push_str("</svg>\n");
}
