package check

import (
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func TestComposeFitsItsSchema(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{"../../compose.yaml"}, cli.WithProfiles([]string{"tools", "observe", "follow"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range project.Services {
		for name := range service.DependsOn {
			if _, err := project.GetService(name); err != nil {
				t.Errorf("%s: %v", service.Name, err)
			}
		}
	}
}
