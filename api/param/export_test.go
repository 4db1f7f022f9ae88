package param

// MeantParameters are the names that stand for parameters.
func MeantParameters() map[string][]string { return meantParameters }

// MeantValues are the words that stand for values.
func MeantValues() map[string][]string { return meantValues }

// MeantPaths are the names that stand for paths.
func MeantPaths() map[string]string { return meantPaths }
