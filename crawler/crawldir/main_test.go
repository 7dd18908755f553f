package crawldir

import (
	"curtsy/storage/scratch"
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }
