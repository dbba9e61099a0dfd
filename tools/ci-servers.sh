#!/usr/bin/env bash
# Install the servers that the tests start, on a runner of GitHub: those of Ubuntu's packages, and MariaDB by version out of its containers.
#   tools/ci-servers.sh [VERSION...]
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

sudo mkdir -p /etc/postgresql-common
echo "create_main_cluster = false" | sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
sudo apt-get update -qq
sudo apt-get install -y -qq --no-install-recommends mariadb-server postgresql openjdk-17-jre-headless xz-utils zstd lz4 groff-base
sudo systemctl disable --now mariadb

for version in "$@"; do
  tree=/opt/mariadb-$version
  sudo mkdir -p "$tree"
  container=$(docker create --quiet "mariadb:$version")
  docker export "$container" | sudo tar -x -C "$tree"
  docker rm "$container" >/dev/null
  sudo mkdir -p "$tree/srv"
  sudo mount -t proc proc "$tree/proc"
  sudo mount --bind /dev "$tree/dev"
  echo "PARAPLY_TEST_MARIADB_${version/./_}=$tree" >>"$GITHUB_ENV"
done
