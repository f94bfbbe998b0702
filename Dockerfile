# The command line in a container; the folder with the data is mounted at /data.
#
#     docker build -t counterpoise .
#     docker run --rm -v "$PWD:/data" counterpoise select source.csv target.csv --label y --out result
#
# For a Dask cluster of two workers: compose.yaml.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE CITATION.cff ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
# The version is that of the wheel.
# hadolint ignore=DL3013
RUN wheel=$(ls /wheels/counterpoise-*.whl) \
    && python -m pip install --no-cache-dir "${wheel}[cli,dask]" \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 counterpoise
USER 1000
WORKDIR /data
ENTRYPOINT ["counterpoise"]
CMD ["--help"]
