"""Digests, and random numbers for keys."""
import hashlib, hmac, secrets, uuid
assert hashlib.sha256(b"abc").hexdigest().startswith("ba7816bf") and len(secrets.token_bytes(32)) == 32
assert hmac.new(b"k", b"m", "sha512").digest_size == 64 and uuid.uuid4() != uuid.uuid4()
print("works")
