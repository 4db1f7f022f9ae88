package embedded

const (
	Program       = program
	SocketName    = socketName
	SavedName     = savedName
	MaxSocketPath = maxSocketPath
)

// CheckVersion is checkVersion.
func CheckVersion(version string) error { return checkVersion(version) }

// ErrOldVersion is errOldVersion.
var ErrOldVersion = errOldVersion
