package trial

import (
	"context"
	"encoding/hex"

	"curtsy/storage/ledger"
)

// marks has a ledger say which files of archive and index are finished. What is finished before it is open, because a kill
// left it, is said when it is.
type marks struct {
	book  *ledger.Writer
	early []func() error
}

// of is told of the files of a folder.
func (m *marks) of(folder string) func(name string, octets int64, sum [32]byte) error {
	return func(name string, octets int64, sum [32]byte) error {
		tell := func() error {
			ctx := context.Background()
			if err := m.book.File(ctx, folder+"/"+name, octets, hex.EncodeToString(sum[:])); err != nil {
				return err
			}
			return m.book.Sync(ctx)
		}
		if m.book == nil {
			m.early = append(m.early, tell)
			return nil
		}
		return tell()
	}
}

// open gives it the ledger.
func (m *marks) open(book *ledger.Writer) error {
	m.book = book
	for _, tell := range m.early {
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}
