from kit import *

for name in (".skillenv", "assets/other.dockerfile", "assets/.skillenv.local"):
    with attempt(name):
        reached(open("/skill/" + name).read())
