# The image: the program in an environment of its own, nothing else, and no root.
#
#   docker build -t hermes .
#   docker run --rm -v hermes:/data -p 127.0.0.1:8642:8642 hermes
#
# BASE: any image with Python 3.11 or newer that can make environments.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
RUN python3 -m venv /opt/hermes
COPY requirements.lock ./
RUN ["/opt/hermes/bin/python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", \
     "--no-input", "--require-hashes", "--requirement", "requirements.lock"]
COPY pyproject.toml README.md LICENSE ./
COPY hermes hermes
COPY gateway gateway
COPY agent_core agent_core
COPY adapters adapters
COPY media media
COPY tools tools
COPY skills skills
# Afterwards without what only the building needed.
RUN /opt/hermes/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-input \
        --no-deps --no-build-isolation . && \
    /opt/hermes/bin/python -m pip uninstall --yes --disable-pip-version-check \
        hatchling editables pathspec pluggy tomlkit trove-classifiers pip

FROM ${BASE}
COPY --from=build /opt/hermes /opt/hermes
RUN ["install", "-d", "-o", "10001", "-g", "10001", "-m", "0700", "/data"]
# Inside all addresses are listened on; who may reach them is said where the port is published.
ENV PATH=/opt/hermes/bin:$PATH \
    HERMES_HOME=/data \
    HOME=/data \
    HERMES_GATEWAY__HTTP__HOST=0.0.0.0 \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8642
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["hermes", "status", "--json"]
ENTRYPOINT ["hermes"]
CMD ["gateway", "run"]
