//! DNS messages: the script's questions and our answers, our questions to the host's resolver and its answers. Pure; every byte
//! that comes in is hostile.

use crate::policy::egress::Name;
use simple_dns::rdata::{A, AAAA, RData, TXT};
use simple_dns::{
    CLASS, CharacterString, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, RCODE, ResourceRecord, TYPE,
};
use simple_dns::{Name as Wire, Question as Asking};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What UDP carries without fragments whatever the path (DNS flag day 2020).
pub const UDP_MOST: usize = 1_232;
/// What every client takes.
const UDP_LEAST: usize = 512;
/// The longest chain of aliases that is followed.
pub const MAX_HOPS: usize = 8;
/// Addresses of one answer.
const MAX_ADDRESSES: usize = 16;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// An IPv4 address.
    A,
    /// An IPv6 address.
    Aaaa,
    /// A text: here the reason of a refusal.
    Txt,
    /// Anything else, by its number.
    Other(u16),
}

/// A question of the script.
#[derive(Debug, Clone)]
pub struct Question {
    /// What is asked for.
    pub asked: Asked,
    /// The name, or why it is none that could be allowed.
    pub name: Result<Name, &'static str>,
    /// The name as it was asked for, for people.
    pub shown: String,
    /// The most that a UDP answer may have.
    pub limit: usize,
    message: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'a> {
    /// These addresses, for so many seconds; none: the name has none of this kind.
    Addresses(&'a [IpAddr], u32),
    /// This text.
    Text(&'a str),
    /// There is no such name.
    NoName,
    /// The policy does not allow it.
    Refused,
    /// The host's resolver did not answer.
    Failed,
}

/// Reads a question. An error holds the answer to what is none, where there is one.
pub fn question(bytes: &[u8]) -> Result<Question, Option<Vec<u8>>> {
    let Ok(packet) = Packet::parse(bytes) else { return Err(malformed(bytes)) };
    if packet.has_flags(PacketFlag::RESPONSE) {
        return Err(None);
    }
    let [asking] = packet.questions.as_slice() else { return Err(malformed(bytes)) };
    if packet.opcode() != OPCODE::StandardQuery {
        return Err(coded(&packet, asking, RCODE::NotImplemented));
    }
    if asking.qclass != QCLASS::CLASS(CLASS::IN) {
        return Err(coded(&packet, asking, RCODE::Refused));
    }
    let asked = match asking.qtype {
        QTYPE::TYPE(TYPE::A) => Asked::A,
        QTYPE::TYPE(TYPE::AAAA) => Asked::Aaaa,
        QTYPE::TYPE(TYPE::TXT) => Asked::Txt,
        other => Asked::Other(other.into()),
    };
    let limit = packet.opt().map_or(UDP_LEAST, |opt| usize::from(opt.udp_packet_size));
    let text = text(&asking.qname);
    let name = text.as_deref().ok_or("a label with a dot or an odd byte").and_then(Name::parse);
    Ok(Question {
        asked,
        name,
        shown: text.unwrap_or_else(|| asking.qname.to_string().escape_default().to_string()),
        limit: limit.clamp(UDP_LEAST, UDP_MOST),
        message: bytes.to_vec(),
    })
}

/// The name as text, where each of its bytes may stand in a name that is looked up.
fn text(name: &Wire<'_>) -> Option<String> {
    let mut labels = Vec::new();
    for label in name.get_labels() {
        let bytes: &[u8] = label.as_ref();
        let good = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if bytes.is_empty() || !bytes.iter().all(good) {
            return None;
        }
        labels.push(std::str::from_utf8(bytes).ok()?.to_ascii_lowercase());
    }
    Some(labels.join("."))
}

/// FORMERR to whoever sent at least an id.
fn malformed(bytes: &[u8]) -> Option<Vec<u8>> {
    let id = u16::from_be_bytes(*bytes.first_chunk()?);
    // An answer to an answer could go on for ever.
    if bytes.get(2)? & 0x80 != 0 {
        return None;
    }
    let mut packet = Packet::new_reply(id);
    *packet.rcode_mut() = RCODE::FormatError;
    packet.build_bytes_vec().ok()
}

fn head<'a>(asked: &Packet<'_>, asking: &Asking<'a>) -> Packet<'a> {
    let mut packet = Packet::new_reply(asked.id());
    packet.set_flags(PacketFlag::RECURSION_AVAILABLE);
    if asked.has_flags(PacketFlag::RECURSION_DESIRED) {
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
    }
    packet.questions.push(asking.clone());
    packet
}

fn coded(asked: &Packet<'_>, asking: &Asking<'_>, code: RCODE) -> Option<Vec<u8>> {
    let mut packet = head(asked, asking);
    *packet.rcode_mut() = code;
    packet.build_bytes_vec().ok()
}

/// The answer as bytes, at most `limit` of them: one that is longer is cut and says so, and the client asks by TCP.
pub fn reply(question: &Question, reply: &Reply<'_>, limit: usize) -> Option<Vec<u8>> {
    let asked = Packet::parse(&question.message).ok()?;
    let asking = asked.questions.first()?;
    let mut packet = head(&asked, asking);
    let record = |ttl, data| ResourceRecord::new(asking.qname.clone(), CLASS::IN, ttl, data);
    match reply {
        Reply::Addresses(addresses, ttl) => {
            packet.answers.extend(addresses.iter().map(|address| match address {
                IpAddr::V4(address) => record(*ttl, RData::A(A { address: address.to_bits() })),
                IpAddr::V6(address) => record(*ttl, RData::AAAA(AAAA { address: address.to_bits() })),
            }));
        }
        Reply::Text(text) => {
            let mut txt = TXT::new();
            for chunk in text.as_bytes().chunks(255) {
                txt.add_char_string(CharacterString::new(chunk).ok()?);
            }
            packet.answers.push(record(0, RData::TXT(txt)));
        }
        Reply::NoName => *packet.rcode_mut() = RCODE::NameError,
        Reply::Refused => *packet.rcode_mut() = RCODE::Refused,
        Reply::Failed => *packet.rcode_mut() = RCODE::ServerFailure,
    }
    let bytes = packet.build_bytes_vec_compressed().ok()?;
    if bytes.len() <= limit {
        return Some(bytes);
    }
    packet.answers.clear();
    packet.set_flags(PacketFlag::TRUNCATION);
    packet.build_bytes_vec().ok()
}

/// A question to the host's resolver.
pub fn query(id: u16, name: &str, v6: bool) -> Option<Vec<u8>> {
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let kind = if v6 { TYPE::AAAA } else { TYPE::A };
    let name = Wire::new(name).ok()?;
    packet.questions.push(Asking::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
    packet.build_bytes_vec().ok()
}

/// What the host's resolver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// These addresses, not judged yet, for so many seconds.
    Addresses(Vec<IpAddr>, u32),
    /// The name stands for this one, of which no address came along.
    Alias(String),
    /// The name has no address of this kind.
    Nothing,
    /// There is no such name.
    NoName,
    /// The answer is longer than UDP carries.
    Truncated,
    /// The resolver could not, or would not.
    Failed(String),
}

/// Reads an answer; `None` when it is none to this question.
pub fn answer(bytes: &[u8], id: u16, name: &str, v6: bool) -> Option<Answer> {
    let packet = Packet::parse(bytes).ok()?;
    let [asking] = packet.questions.as_slice() else { return None };
    let kind = if v6 { TYPE::AAAA } else { TYPE::A };
    let same = packet.id() == id
        && packet.has_flags(PacketFlag::RESPONSE)
        && asking.qtype == QTYPE::TYPE(kind)
        && text(&asking.qname).as_deref() == Some(name);
    if !same {
        return None;
    }
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return Some(Answer::Truncated);
    }
    match packet.rcode() {
        RCODE::NoError => Some(follow(&packet, name, v6)),
        RCODE::NameError => Some(Answer::NoName),
        other => Some(Answer::Failed(format!("the resolver answered {other:?}"))),
    }
}

/// Follows the aliases in one answer: records of other names are not looked at.
fn follow(packet: &Packet<'_>, name: &str, v6: bool) -> Answer {
    let mut name = name.to_owned();
    let mut least = u32::MAX;
    for hop in 0..=MAX_HOPS {
        let mut addresses = Vec::new();
        let mut next = None;
        for record in packet.answers.iter().filter(|record| text(&record.name).as_deref() == Some(&name)) {
            match &record.rdata {
                RData::A(a) if !v6 => addresses.push(IpAddr::V4(Ipv4Addr::from_bits(a.address))),
                RData::AAAA(a) if v6 => addresses.push(IpAddr::V6(Ipv6Addr::from_bits(a.address))),
                RData::CNAME(alias) => match text(&alias.0) {
                    Some(alias) => next = Some(alias),
                    None => return Answer::Failed("an alias that is no name".to_owned()),
                },
                _ => continue,
            }
            least = least.min(record.ttl);
        }
        if !addresses.is_empty() {
            addresses.truncate(MAX_ADDRESSES);
            return Answer::Addresses(addresses, least);
        }
        match next {
            Some(alias) => name = alias,
            None if hop == 0 => return Answer::Nothing,
            None => return Answer::Alias(name),
        }
    }
    Answer::Failed("a chain of aliases that does not end".to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use simple_dns::rdata::CNAME;

    fn asked(name: &str, kind: TYPE) -> Vec<u8> {
        let mut packet = Packet::new_query(77);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Wire::new_unchecked(name);
        packet.questions.push(Asking::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
        packet.build_bytes_vec().unwrap()
    }

    /// An answer of a resolver: aliases and addresses.
    fn answered(query: &[u8], records: &[(&str, RData<'static>)]) -> Vec<u8> {
        let query = Packet::parse(query).unwrap();
        let mut packet = Packet::new_reply(query.id());
        packet.questions.clone_from(&query.questions);
        for (name, data) in records {
            packet.answers.push(ResourceRecord::new(Wire::new_unchecked(name), CLASS::IN, 60, data.clone()));
        }
        packet.build_bytes_vec_compressed().unwrap()
    }

    fn a(text: &str) -> RData<'static> {
        RData::A(A { address: text.parse::<Ipv4Addr>().unwrap().to_bits() })
    }

    fn alias(name: &'static str) -> RData<'static> {
        RData::CNAME(CNAME(Wire::new_unchecked(name)))
    }

    #[test]
    fn a_question_is_read_and_answered() {
        let question = question(&asked("API.Example.org", TYPE::A)).unwrap();
        assert_eq!((question.asked, question.name.clone().unwrap().as_str()), (Asked::A, "api.example.org"));
        let address: IpAddr = "93.184.216.34".parse().unwrap();
        let bytes = reply(&question, &Reply::Addresses(&[address], 60), UDP_MOST).unwrap();
        assert_eq!(answer(&bytes, 77, "api.example.org", false), Some(Answer::Addresses(vec![address], 60)));
        let bytes = reply(&question, &Reply::Refused, UDP_MOST).unwrap();
        assert_eq!(Packet::parse(&bytes).unwrap().rcode(), RCODE::Refused);
    }

    #[test]
    fn an_answer_that_is_too_long_is_cut_and_says_so() {
        let question = question(&asked("api.example.org", TYPE::TXT)).unwrap();
        assert_eq!(question.limit, 512);
        let text = "x".repeat(2_000);
        let cut = reply(&question, &Reply::Text(&text), question.limit).unwrap();
        assert!(Packet::parse(&cut).unwrap().has_flags(PacketFlag::TRUNCATION));
        let whole = reply(&question, &Reply::Text(&text), 65_535).unwrap();
        assert!(whole.len() > 2_000 && !Packet::parse(&whole).unwrap().has_flags(PacketFlag::TRUNCATION));
    }

    #[test]
    fn what_is_no_question_gets_an_error_or_nothing() {
        assert!(matches!(question(&[]), Err(None)));
        assert!(matches!(question(&[0, 1, 0]), Err(Some(_))));
        let mut answer = asked("example.org", TYPE::A);
        answer[2] |= 0x80;
        assert!(matches!(question(&answer), Err(None)));
        assert!(question(&asked("10.0.0.1", TYPE::A)).unwrap().name.is_err());
        assert!(question(&asked("_x.example.org", TYPE::A)).unwrap().name.is_err());
    }

    #[test]
    fn aliases_are_followed_and_other_names_are_not() {
        let query = query(5, "a.example.org", false).unwrap();
        let read = |records: &[(&str, RData<'static>)]| {
            answer(&answered(&query, records), 5, "a.example.org", false)
        };
        let good = Answer::Addresses(vec!["93.184.216.34".parse().unwrap()], 60);
        let chain = [
            ("b.cdn.net", a("93.184.216.34")),
            ("a.example.org", alias("b.cdn.net")),
            ("evil.org", a("10.0.0.1")),
        ];
        assert_eq!(read(&chain), Some(good));
        assert_eq!(read(&chain[1..]), Some(Answer::Alias("b.cdn.net".to_owned())));
        assert_eq!(read(&chain[2..]), Some(Answer::Nothing));
        let ring = [("a.example.org", alias("b.org")), ("b.org", alias("a.example.org"))];
        assert!(matches!(read(&ring), Some(Answer::Failed(_))));
        assert_eq!(answer(&answered(&query, &chain), 6, "a.example.org", false), None);
        assert_eq!(answer(&answered(&query, &chain), 5, "b.example.org", false), None);
        assert_eq!(answer(&answered(&query, &chain), 5, "a.example.org", true), None);
    }
}
