package bolt

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"
)

// halt ends a scan early. It is no fault of the file.
type halt struct{ cause error } // nil when the scan has found what it looked for

func (h halt) Error() string { return "halted" }

// scan is reading for what takes long: read may end it by a halt, whose cause is then the answer, and which leaves the
// frontier usable.
func (f *Frontier) scan(ctx context.Context, note func(now int64), read func(tx *bbolt.Tx) error) error {
	var h halt
	err := f.reading(ctx, note, func(tx *bbolt.Tx) error {
		if err := read(tx); !errors.As(err, &h) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.cause
}
