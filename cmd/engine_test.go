package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

//nolint:paralleltest // the environment is the process's
func TestNoEngineIsFetchedBesideTheOneThatASettingNames(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libchdb.so")
	env.WriteFile(t, library, "")
	t.Setenv("PNYX_ENGINE_LIB", library)
	t.Setenv("XDG_CACHE_HOME", library) // where no folder can be made
	cmd := engineCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs(nil)
	env.MustDo(t, cmd.ExecuteContext(t.Context()))
	env.Want(t, "engine: "+library+"\n", out.String())
}
