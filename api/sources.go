package api

import "embed"

// sources are the files whose types stand in every answer.
//
//go:embed envelope.go error.go usage.go
var sources embed.FS
