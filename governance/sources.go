package governance

import "embed"

// Sources are the files of this package. What they say of a type is what the
// published description of the API says of it.
//
//go:embed *.go
var Sources embed.FS
