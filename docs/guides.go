// Package docs holds the guides for those who use a node, which nodes serve.
package docs

import "embed"

// Guides are the guides as Markdown, a file each.
//
//go:embed analysts.md partners.md rules.md schema.md
var Guides embed.FS
