# The image that an engine for bring-your-own runtimes builds. skilljail reads that it is there, never what it says.
FROM debian:12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ffmpeg jq \
    && rm -rf /var/lib/apt/lists/*
USER 1000:1000
WORKDIR /workdir
