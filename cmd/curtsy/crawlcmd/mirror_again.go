package crawlcmd

import (
	"context"
	"os"

	"curtsy/storage/mirror"
)

// Again makes the mirror of a crawl directory again, as its settings have it. Where nothing is archived any more there is
// none.
func Again(ctx context.Context, dir string) error {
	b, err := rebuildMirror(ctx, []string{dir}, &rebuildOptions{maxBody: 1 << 30, given: func(string) bool { return false }}, new(mirror.Progress))
	if err != nil || b != nil {
		return err
	}
	return os.RemoveAll(mirror.Tree(dir))
}
