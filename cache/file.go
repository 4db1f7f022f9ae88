package cache

// File is a text that is sent as it is, as a page holds it.
type File struct {
	Gzip []byte `msgpack:"z"` // the compressed text
	Size int    `msgpack:"n"` // length of the text in bytes
	// Digest is the SHA-256 of the text, and GzipDigest the SHA-256 of Gzip.
	Digest     []byte `msgpack:"d"`
	GzipDigest []byte `msgpack:"g"`
}
