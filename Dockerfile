FROM node:26-slim AS inbox
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/gateway/package.json packages/gateway/
COPY packages/inbox/package.json packages/inbox/
RUN npm ci --workspace packages/inbox --ignore-scripts --no-audit --no-fund
COPY packages/contract/src packages/contract/src/
COPY tsconfig.json ./
COPY packages/inbox packages/inbox/
RUN node node_modules/vite/bin/vite.js build packages/inbox

FROM node:26-slim AS build
WORKDIR /app
# The files that determine the dependencies come first, so that they are reinstalled only when these change.
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/gateway/package.json packages/gateway/
COPY packages/inbox/package.json packages/inbox/
COPY packages/gateway/bin packages/gateway/bin/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY packages/contract/src packages/contract/src/
COPY packages/gateway/src packages/gateway/src/
COPY --from=inbox /app/packages/inbox/dist packages/inbox/dist/
COPY deploy/healthcheck.js deploy/

FROM node:26-slim
WORKDIR /app
# 1000 is the user of the base image. A number, so that orchestrators can verify that it is not root.
RUN mkdir -m 700 /data && chown 1000:1000 /data
COPY --from=build /app ./
ENV PATH=/app/node_modules/.bin:$PATH
ENV TOCSIN_DATA_DIR=/data
ENV TOCSIN_HOST=0.0.0.0
USER 1000:1000
VOLUME /data
# The public API, the console, the embedded MQTT broker.
EXPOSE 8080 8081 1883
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "deploy/healthcheck.js"]
ENTRYPOINT ["node", "packages/gateway/bin/tocsin.js"]
CMD ["serve"]
