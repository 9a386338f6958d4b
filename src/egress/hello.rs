//! The server name of a TLS client hello (RFC 8446 §4.1.2, RFC 6066 §3): read, never changed and never ended here.

/// No client hello is longer: past it the bytes are something else.
pub const MAX_BYTES: usize = 18 << 10;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hello {
    /// The beginning of one: more bytes are needed.
    Incomplete,
    /// A client hello, and the one host name in it as it stands there.
    ServerName(String),
    /// A client hello without a host name.
    Absent,
    /// Something else; why.
    Other(&'static str),
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Reads what has come so far.
pub fn read(bytes: &[u8]) -> Hello {
    match handshake(bytes) {
        Ok(Some(body)) => server_name(&body).unwrap_or(Hello::Other("a malformed client hello")),
        Ok(None) if bytes.len() >= MAX_BYTES => Hello::Other("a client hello that does not end"),
        Ok(None) => Hello::Incomplete,
        Err(what) => Hello::Other(what),
    }
}

/// The body of the first handshake message, put together from its records; `None` while it is not whole.
fn handshake(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut message = Vec::new();
    loop {
        let Some((kind, rest)) = bytes.split_first() else { return Ok(None) };
        if *kind != HANDSHAKE {
            return Err("no TLS handshake");
        }
        let Some((major, rest)) = rest.split_first() else { return Ok(None) };
        if *major != 3 {
            return Err("no TLS handshake");
        }
        let Some(([_minor, high, low], rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length == 0 || length > 16 << 10 {
            return Err("a malformed TLS record");
        }
        let part = rest.get(..length.min(rest.len())).unwrap_or_default();
        message.extend_from_slice(part);
        if let Some(kind) = message.first()
            && *kind != CLIENT_HELLO
        {
            return Err("no client hello");
        }
        if let Some([_, a, b, c]) = message.first_chunk() {
            let whole = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            if whole > MAX_BYTES {
                return Err("a client hello that is too long");
            }
            if let Some(body) = message.get(4..4 + whole) {
                return Ok(Some(body.to_vec()));
            }
        }
        match rest.get(length..) {
            Some(more) => bytes = more,
            None => return Ok(None),
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(count)?;
    *bytes = tail;
    Some(head)
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    take(bytes, 1)?.first().copied()
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*take(bytes, 2)?.first_chunk()?))
}

/// `None` where the message is malformed.
fn server_name(mut body: &[u8]) -> Option<Hello> {
    take(&mut body, 2 + 32)?;
    let session = byte(&mut body)?;
    take(&mut body, session.into())?;
    let ciphers = short(&mut body)?;
    take(&mut body, ciphers.into())?;
    let compressions = byte(&mut body)?;
    take(&mut body, compressions.into())?;
    if body.is_empty() {
        return Some(Hello::Absent);
    }
    let length = short(&mut body)?;
    let mut extensions = take(&mut body, length.into())?;
    let mut found = None;
    while !extensions.is_empty() {
        let kind = short(&mut extensions)?;
        let length = short(&mut extensions)?;
        let content = take(&mut extensions, length.into())?;
        if kind == SERVER_NAME {
            // Two of them: whoever reads the other one sees another name.
            if found.is_some() {
                return Some(Hello::Other("two server names"));
            }
            found = Some(host_name(content)?);
        }
    }
    Some(found.map_or(Hello::Absent, Hello::ServerName))
}

fn host_name(mut content: &[u8]) -> Option<String> {
    let length = short(&mut content)?;
    let mut list = take(&mut content, length.into())?;
    if byte(&mut list)? != HOST_NAME || !content.is_empty() {
        return None;
    }
    let length = short(&mut list)?;
    let name = take(&mut list, length.into())?;
    // One name, and nothing after it.
    (list.is_empty() && name.is_ascii()).then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A client hello with these extensions, in records of at most `size` bytes.
    pub(in crate::egress) fn hello(extensions: &[(u16, Vec<u8>)], size: usize) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        let all: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, content)| {
                let length = u16::try_from(content.len()).unwrap();
                [kind.to_be_bytes().to_vec(), length.to_be_bytes().to_vec(), content.clone()].concat()
            })
            .collect();
        body.extend(u16::try_from(all.len()).unwrap().to_be_bytes());
        body.extend(all);
        let mut message = vec![CLIENT_HELLO, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        let record = |part: &[u8]| {
            [&[HANDSHAKE, 3, 1][..], &u16::try_from(part.len()).unwrap().to_be_bytes(), part].concat()
        };
        message.chunks(size).flat_map(record).collect()
    }

    pub(in crate::egress) fn name(name: &str) -> (u16, Vec<u8>) {
        let length = u16::try_from(name.len()).unwrap();
        (0, [&(length + 3).to_be_bytes()[..], &[0], &length.to_be_bytes(), name.as_bytes()].concat())
    }

    #[test]
    fn the_name_is_found_however_it_is_cut() {
        let whole = Hello::ServerName("api.example.org".to_owned());
        for size in [1, 3, 50, 16_000] {
            let bytes = hello(&[(10, vec![0, 2, 0, 29]), name("api.example.org"), (43, vec![2, 3, 4])], size);
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Hello::Incomplete, "{size} {end}");
            }
            assert_eq!(read(&bytes), whole);
        }
    }

    #[test]
    fn what_is_no_name_is_said() {
        assert_eq!(read(&hello(&[], 100)), Hello::Absent);
        assert_eq!(read(&hello(&[(43, vec![2, 3, 4])], 100)), Hello::Absent);
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Hello::Other("no TLS handshake"));
        assert_eq!(read(&hello(&[name("a.org"), name("b.org")], 100)), Hello::Other("two server names"));
        let (kind, mut two) = name("a.org");
        two.extend([0, 0, 1, b'b']);
        two[1] += 4;
        assert_eq!(read(&hello(&[(kind, two)], 100)), Hello::Other("a malformed client hello"));
        assert_eq!(read(&[22, 3, 1, 0, 0]), Hello::Other("a malformed TLS record"));
        assert_eq!(read(&[22, 3, 1, 0, 4, 1, 1, 0, 0]), Hello::Other("a client hello that is too long"));
    }
}
