package warc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASegmentThatWasBeingWrittenIsReadByItsFinalName(t *testing.T) {
	path, page, _ := archived(t)
	open := path + openSuffix
	var p Places
	defer p.Close()
	for what, read := range map[string]func(path string) error{
		"ReadAt": func(path string) error {
			rec, file, err := ReadAt(path, page.Offset)
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = io.Copy(io.Discard, rec.Block)
			return err
		},
		"Places": func(path string) error {
			l, err := p.Lenient(path, page, nil)
			if err == nil {
				_, err = l.Next()
			}
			return err
		},
		"OpenListed": func(path string) error {
			f, err := OpenListed(path, os.Open)
			if err == nil {
				err = f.Close()
			}
			return err
		},
	} {
		assert.NoError(t, read(open), what)
		none := filepath.Join(t.TempDir(), "y.warc.gz")
		for _, name := range []string{none, none + openSuffix} {
			err := read(name)
			assert.Truef(t, errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), name), "%s: of %s, which is not there: %v", what, name, err)
		}
		require.NoError(t, os.WriteFile(none+openSuffix, nil, 0o600))
		assert.NotEqualf(t, (what == "ReadAt"), errors.Is(read(none), fs.ErrNotExist), "%s: an open segment by its final name", what)
	}
	denied := errors.New("denied")
	calls := 0
	_, err := OpenListed(open, func(string) (*os.File, error) {
		calls++
		return nil, denied
	})
	assert.Truef(t, errors.Is(err, denied) && calls == 1, "another failure: %v after %d calls", err, calls)
}
