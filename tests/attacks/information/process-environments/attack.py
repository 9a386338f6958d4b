from kit import *

with attempt("/proc"):
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    text = file.read().decode(errors="replace")
            except OSError:
                continue
            if "SECRET=canary-" in text:
                reached("an environment", text)
                break
    else:
        absent("no environment with a secret")
