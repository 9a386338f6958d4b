from kit import *

held = [name for name in ("SSLKEYLOGFILE", "OPENSSL_CONF", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy") if name in os.environ]
if held:
    reached(held)
else:
    absent("none")
