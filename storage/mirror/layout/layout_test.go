package layout

import (
	"os"
	"testing"

	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func TestParse_LayoutOfEarlierVersion(t *testing.T) {
	if _, err := Parse("single"); err == nil || err.Error() != "the layout single was removed: write host or flat" {
		t.Errorf("%v", err)
	}
}
