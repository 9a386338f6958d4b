from kit import *

absent(sorted(os.listdir('/skill/assets')))
# newline-name
