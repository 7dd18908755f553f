package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Blob implements frontier.Frontier.
func (f *Frontier) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	var later, body []byte // later is not in the file yet
	find := func(g *group) {
		for _, b := range g.blobs {
			if b.Sum == sum {
				later = append([]byte{}, b.Body...)
			}
		}
	}
	err := f.reading(ctx, func(int64) {
		for g := range f.groups.all() {
			find(g)
		}
	}, func(tx *bbolt.Tx) (err error) {
		body, err = layout.ReadBlob(tx, sum)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case later != nil:
		return later, nil
	case body == nil:
		return nil, frontier.ErrNoBlob
	}
	return body, nil
}
