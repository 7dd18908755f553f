package optout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// Append adds entries with a reason, which may be empty, to the list at path, and makes it if it is not there. It
// returns how many were added: an entry that stands there already is left out. A list that has a mistake, and one that
// would have, is not touched. All is written at once, so that a crawl that reads meanwhile sees all of it or nothing.
func Append(path string, texts []string, reason string) (added int, err error) {
	_, b, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("optout: %w", err)
	}
	old, err := Parse(path, b)
	if err != nil {
		return 0, err
	}
	if strings.ContainsFunc(reason, unicode.IsControl) {
		return 0, errors.New("optout: a reason is one line")
	}
	known := map[string]bool{}
	for _, e := range old.entries {
		known[e.Text] = true
	}
	var more strings.Builder
	if len(b) > 0 && b[len(b)-1] != '\n' {
		more.WriteByte('\n')
	}
	for _, text := range texts {
		if err := new(List).Add(text); err != nil {
			return 0, err
		}
		if known[text] {
			continue
		}
		known[text] = true
		added++
		more.WriteString(text)
		if reason != "" {
			more.WriteString("\t" + reason)
		}
		more.WriteByte('\n')
	}
	if added == 0 {
		return 0, nil
	}
	return added, write(path, more.String())
}

// write appends text to a file, durably. Half of it is taken back: half an entry means somebody else.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("optout: %w", err)
	}
	n, err := f.WriteString(text)
	if err != nil && n > 0 {
		// where the write ended; nobody else adds to a list between the two on a full disk
		end, serr := f.Seek(0, io.SeekCurrent)
		if serr == nil {
			serr = f.Truncate(end - int64(n))
		}
		err = errors.Join(err, serr)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("optout: %w", err)
	}
	return nil
}
