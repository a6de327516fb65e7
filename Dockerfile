# One image for every process: the API by default, `node workflows/worker.ts` and `node server/db/migrate.ts`.
# docs/installing.md says how to build and run it. Neither PostgreSQL nor Temporal is in it.

# What `npm run build` builds, and the packages that patches/ changes. Only this stage needs development dependencies.
FROM node:26.10.0-bookworm-slim AS pages
WORKDIR /opt/verdict
COPY package.json package-lock.json .npmrc ./
# Nothing that builds the pages needs an install script, and `prepare` would build them before their sources are here.
RUN npm ci --ignore-scripts
COPY patches patches
RUN npx patch-package --error-on-fail
COPY tsconfig.json ./
COPY address-files address-files
COPY dashboard dashboard
COPY gen gen
COPY net net
COPY mail mail
COPY server server
COPY buf.yaml ./
COPY proto proto
COPY dev/build-dashboard.ts dev/build-guides.ts dev/build-openapi.ts dev/built-folder.ts dev/
COPY dev/guides dev/guides
COPY dev/openapi dev/openapi
COPY docs docs
COPY CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md ./
COPY client/README.md client/
COPY client/python/README.md client/python/
RUN npm run build

# What the server imports. `--legacy-peer-deps` leaves out the optional peers of libraries, which are our development
# dependencies: Vite, Vitest, React and drizzle-kit. The scripts would download the Node that the image already has.
FROM node:26.10.0-bookworm-slim AS packages
WORKDIR /opt/verdict
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --legacy-peer-deps --ignore-scripts \
 && rm -r node_modules/node \
 && ln -s ../../cli/bin.mjs node_modules/.bin/verdict \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-*-linux-gnu" -exec rm -r {} +
# The database driver, corrected: patch-package is a development dependency.
COPY --from=pages /opt/verdict/node_modules/postgres node_modules/postgres

FROM node:26.10.0-bookworm-slim
# A proxy, an orchestrator and Prometheus reach the container from outside. Publish only PORT to callers.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 METRICS_HOST=0.0.0.0
# `verdict` is the command line: npx would need a folder to write to.
ENV PATH=/opt/verdict/node_modules/.bin:$PATH
WORKDIR /opt/verdict
COPY --from=packages /opt/verdict/node_modules node_modules
COPY --from=pages /opt/verdict/dashboard/dist dashboard/dist
COPY --from=pages /opt/verdict/docs/dist docs/dist
COPY --from=pages /opt/verdict/docs/openapi.json docs/
COPY package.json ./
COPY address-files address-files
COPY gen gen
COPY net net
COPY mail mail
COPY server server
COPY cli cli
# What the command line has from the dashboard: the words for an outcome, and how addresses are compared.
COPY dashboard/messages/sentences.ts dashboard/messages/
COPY dashboard/outside-text/comparable.ts dashboard/outside-text/
COPY workflows workflows
COPY deploy/probe.ts deploy/
# The files belong to root: the processes write nothing here.
USER 1000:1000
EXPOSE 8080 9464 9465
# Whether the process answers. /readyz also says whether its database does, which a restart would not mend.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "deploy/probe.ts", "http://127.0.0.1:8080/healthz"]
CMD ["node", "server/main.ts"]
