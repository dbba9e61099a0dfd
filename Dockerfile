# paraply in a small image that does not run as root. Build it from a checkout:
#   docker build -t paraply .
#   docker run --rm -v /var/log/mysql:/logs:ro paraply apply /logs --to mysql://app@db.example.org
FROM rust:1.88-slim-bookworm AS build
# Of no version: Debian keeps only the newest one of a package, and these two are not in the final image.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /build && /build/bin/pip install --no-cache-dir "maturin>=1.9,<2"
WORKDIR /source
COPY . .
RUN /build/bin/maturin build --release --locked --out /wheels

FROM python:3.13-slim-bookworm
# Extras of the wheel; empty for MySQL and MariaDB alone.
ARG EXTRAS="[postgres,metrics]"
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-compile "$(ls /wheels/*.whl)${EXTRAS}" \
 && rm -rf /wheels \
 && useradd --create-home --uid 10001 --shell /usr/sbin/nologin paraply \
 && install -d -o paraply -g paraply /data
USER 10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["paraply"]
CMD ["--help"]
