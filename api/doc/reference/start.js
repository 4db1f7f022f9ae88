"use strict";

// What a route costs and which bucket it counts in are shown as extensions, beside it.
window.ui = SwaggerUIBundle({
  url: "/openapi/agent-v2.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  defaultModelRendering: "example",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  persistAuthorization: false,
  showExtensions: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  supportedSubmitMethods: ["get"],
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
