package warc

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// OpenListed opens a file of an archive, by way of open, under the name that it had when somebody looked. A crawl that runs may
// have completed a segment since: the one that was being written then stands under its final name now.
func OpenListed(path string, open func(path string) (*os.File, error)) (*os.File, error) {
	f, err := open(path)
	final, was := strings.CutSuffix(path, openSuffix)
	if was && errors.Is(err, fs.ErrNotExist) {
		if done, err := open(final); err == nil {
			return done, nil
		}
	}
	return f, err
}
