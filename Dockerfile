FROM node:26-slim AS build
WORKDIR /app
# The files that determine the dependencies come first, so that they are reinstalled only when these change.
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/gateway/package.json packages/gateway/
COPY packages/gateway/bin packages/gateway/bin/
COPY packages/inbox/package.json packages/inbox/
RUN npm ci --workspace packages/gateway --workspace packages/inbox --ignore-scripts --no-audit --no-fund
COPY LICENSE tsconfig.json ./
COPY scripts/build.mjs scripts/dist.mjs scripts/
COPY packages/contract/src packages/contract/src/
COPY packages/gateway/src packages/gateway/src/
COPY packages/inbox packages/inbox/
RUN node scripts/build.mjs

# The image has what the npm package has: the launcher and the build, which contains all dependencies.
FROM node:26-slim
WORKDIR /app
# 1000 is the user of the base image. A number, so that orchestrators can verify that it is not root.
RUN mkdir -m 700 /data && chown 1000:1000 /data
COPY --from=build /app/packages/gateway/package.json ./
COPY --from=build /app/packages/gateway/bin bin/
COPY --from=build /app/packages/gateway/dist dist/
COPY deploy/healthcheck.js deploy/
RUN ln -s tocsin.js bin/tocsin
ENV PATH=/app/bin:$PATH
ENV TOCSIN_DATA_DIR=/data
ENV TOCSIN_HOST=0.0.0.0
USER 1000:1000
VOLUME /data
# The public API, the console, the embedded MQTT broker.
EXPOSE 8080 8081 1883
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "deploy/healthcheck.js"]
ENTRYPOINT ["node", "bin/tocsin.js"]
CMD ["serve"]
