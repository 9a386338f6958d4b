#!/bin/sh
# Cuts one frame out of a video; the input is one JSON object on stdin.
set -eu

refuse() {
    jq --null-input --compact-output --arg code "$1" --arg message "$2" '{error: {code: $code, message: $message}}'
    exit 1
}

input=$(cat)
video=$(printf '%s' "$input" | jq --raw-output '.video')
at_ms=$(printf '%s' "$input" | jq --raw-output '.at_ms // 1000')
width=$(printf '%s' "$input" | jq --raw-output '.width // 320')

case $video in
'' | . | .. | */*) refuse bad_name "video is a file's name in /workdir/in, without a slash" ;;
esac
source=/workdir/in/$video
[ -f "$source" ] || refuse no_video "there is no file $video in /workdir/in"

target=/workdir/out/thumbnail.jpg
# file: keeps ffmpeg from taking a name such as "concat:x" for a protocol.
ffmpeg -nostdin -loglevel error -y -ss "${at_ms}ms" -i "file:$source" \
    -frames:v 1 -vf "scale=$width:-2" "file:$target" >&2 || refuse no_frame "ffmpeg cannot read $video"
[ -s "$target" ] || refuse no_frame "$video has no frame at $at_ms ms"

jq --null-input --compact-output --argjson bytes "$(wc -c <"$target")" \
    '{file: "/workdir/out/thumbnail.jpg", bytes: $bytes}'
