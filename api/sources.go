package api

import "embed"

// sources are the files whose types stand in every answer.
//
//go:embed envelope.go problem.go usage.go
var sources embed.FS
