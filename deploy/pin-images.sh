#!/bin/sh
# Pins each image of others by its digest, beside its tag: in the Dockerfiles, in compose.yaml and in this folder. A tag
# may be moved to another image later, a digest may not. Needs docker with buildx, and a registry that answers. Run it
# again after a change of tags: what is pinned stays.
set -eu
cd "$(dirname "$0")/.."

files=$(grep -rlE '^ *(- )?(image|imageName): |^FROM ' Dockerfile compose.yaml deploy)
images=$(sed -nE 's/^ *(- )?(image|imageName): +([^ #]+).*/\3/p; s/^FROM +([^ ]+).*/\1/p' $files |
  grep -E '^[a-z0-9./-]+:[^@]+$' | grep -vE '(^|/)verdict(-database)?:' | sort -u)

for image in $images; do
  digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
  case $digest in
    sha256:????????????????????????????????????????????????????????????????) ;;
    *) echo "$image: the registry gave no digest" >&2; exit 1 ;;
  esac
  escaped=$(printf %s "$image" | sed 's/[.]/\\./g')
  sed -i -E "s#((image|imageName): +|^FROM +)$escaped( |\$)#\1$image@$digest\3#" $files
  echo "$image@$digest"
done
