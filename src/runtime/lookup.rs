//! Where a runtime is looked for. No environment variable has a say.

use super::RuntimeError;
use std::path::{Path, PathBuf};

/// Where packages for whole hosts put it.
const OF_HOST: &str = "/usr/lib/skilljail/runtime";
/// Below a user's home.
const OF_USER: &str = ".local/share/skilljail/runtime";

/// The places, in order.
pub fn places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from(OF_HOST)];
    places.extend(home().map(|home| home.join(OF_USER)));
    places
}

/// Where a build goes that names no place: root builds for the host, others for themselves.
pub fn default_out() -> Option<PathBuf> {
    if nix::unistd::geteuid().is_root() {
        return Some(PathBuf::from(OF_HOST));
    }
    home().map(|home| home.join(OF_USER))
}

/// The tree that was named, or the first that is there.
pub fn find(named: Option<&Path>) -> Result<PathBuf, RuntimeError> {
    if let Some(named) = named {
        let nothing =
            named.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if nothing {
            let looked = named.display().to_string();
            let hint = format!("skilljail runtime build --out {looked}");
            return Err(RuntimeError::NotFound { looked, hint });
        }
        return Ok(named.to_path_buf());
    }
    let places = places();
    let found = places.iter().find(|place| place.symlink_metadata().is_ok());
    found.cloned().ok_or_else(|| RuntimeError::NotFound {
        looked: places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", "),
        hint: match default_out() {
            Some(_) => "skilljail runtime build".to_owned(),
            None => "skilljail runtime build --out DIR, then run with --runtime DIR".to_owned(),
        },
    })
}

/// The home of the password database, never `$HOME`, which whoever starts us may set.
///
/// Read from `/etc/passwd` first; users of other databases are asked for where the C library can (not in a static
/// executable, whose C library could not load the modules).
fn home() -> Option<PathBuf> {
    let uid = nix::unistd::geteuid();
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    home_in(&text, uid.as_raw()).or_else(|| home_elsewhere(uid))
}

#[cfg(not(target_feature = "crt-static"))]
fn home_elsewhere(uid: nix::unistd::Uid) -> Option<PathBuf> {
    nix::unistd::User::from_uid(uid).ok().flatten().map(|user| user.dir).filter(|home| home.is_absolute())
}

#[cfg(target_feature = "crt-static")]
fn home_elsewhere(_uid: nix::unistd::Uid) -> Option<PathBuf> {
    None
}

/// passwd(5): name, password, uid, gid, comment, home, shell.
fn home_in(passwd: &str, uid: u32) -> Option<PathBuf> {
    let line = passwd
        .lines()
        .find(|line| line.split(':').nth(2).and_then(|field| field.parse().ok()) == Some(uid))?;
    let home = PathBuf::from(line.split(':').nth(5)?);
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::home_in;
    use std::path::Path;

    #[test]
    fn the_home_is_the_sixth_field_of_the_line_with_the_uid() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nx:x:10:0::relative:\nbroken\nann:x:1000:1000:A:/home/ann:/bin/sh\n";
        assert_eq!(home_in(passwd, 1000).as_deref(), Some(Path::new("/home/ann")));
        assert_eq!(home_in(passwd, 0).as_deref(), Some(Path::new("/root")));
        assert_eq!(home_in(passwd, 10), None);
        assert_eq!(home_in(passwd, 1), None);
    }
}
