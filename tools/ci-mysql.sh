#!/usr/bin/env bash
# Start two MySQL of a version out of its container, on a runner of GitHub, and name them to the tests by the variables of CONTRIBUTING.md.
#   tools/ci-mysql.sh VERSION
#   tools/ci-mysql.sh restart I    kill server I, and wait until it answers again
# They use the runner's own network: replicas among them connect to what tests start on loopback. Their data is below /opt, for root to read.
set -euo pipefail

name() { echo "paraply-mysql-$1"; }
port() { echo "1330$1"; }
sql() { docker exec --env MYSQL_PWD=app "$(name "$1")" mysql --host=127.0.0.1 --port="$(port "$1")" --user=root --execute "$2"; }

wait_for() { # while it makes its data, it takes no connections from the network
  for _ in $(seq 240); do
    if sql "$1" "SELECT 1" >/dev/null 2>&1; then return 0; fi
    sleep 0.5
  done
  docker logs --tail 40 "$(name "$1")" >&2
  echo "MySQL $1 does not answer" >&2
  return 1
}

if [ "$1" = restart ]; then
  docker kill --signal KILL "$(name "$2")" >/dev/null
  docker wait "$(name "$2")" >/dev/null
  docker start "$(name "$2")" >/dev/null
  wait_for "$2"
  exit
fi

for server in 1 2; do
  docker run --quiet --detach --name "$(name $server)" --network host --volume "/opt/$(name $server):/var/lib/mysql" \
    --env MYSQL_ROOT_PASSWORD=app --env MYSQL_ROOT_HOST=% "mysql:$1" \
    --port="$(port $server)" --bind-address=127.0.0.1 --report-host=127.0.0.1 --report-port="$(port $server)" --mysqlx=OFF --secure-file-priv= \
    --server-id=$server --log-bin=binlog --relay-log=relay --gtid-mode=ON --enforce-gtid-consistency=ON --binlog-row-metadata=FULL >/dev/null
done
for server in 1 2; do
  wait_for $server
  sql $server "SET sql_log_bin = 0; CREATE USER app@'%' IDENTIFIED BY 'app'; GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION"
  sql $server "RESET BINARY LOGS AND GTIDS"
done
cat >>"$GITHUB_ENV" <<VARIABLES
PARAPLY_TEST_MYSQL=mysql://app:app@127.0.0.1:$(port 1)
PARAPLY_TEST_MYSQL_DATA=/opt/$(name 1)
PARAPLY_TEST_MYSQL_RESTART=$PWD/tools/ci-mysql.sh restart 1
PARAPLY_TEST_MYSQL_SOURCE=mysql://app:app@127.0.0.1:$(port 2)
PARAPLY_TEST_MYSQL_TARGET=mysql://app:app@127.0.0.1:$(port 2)
VARIABLES
