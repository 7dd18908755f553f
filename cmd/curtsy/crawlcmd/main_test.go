package crawlcmd

import (
	"os"
	"testing"

	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }
