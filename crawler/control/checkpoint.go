package control

import (
	"context"
	"net/http"
	"path/filepath"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

// LedgerName is the folder of the ledger in a crawl directory.
const LedgerName = "ledger"

// noteBody is the answer to GET /checkpoint.
type noteBody struct {
	Note string `json:"note"`
}

// checkpoint answers GET /checkpoint with the latest one of the crawl's ledger.
func (s *server) checkpoint(*http.Request) (any, error) {
	n, err := ledger.Latest(filepath.Join(s.dir, LedgerName))
	if err != nil {
		return nil, err
	}
	return noteBody{string(n.Marshal())}, nil
}

// Checkpoint has the crawl tell the latest checkpoint of its ledger. No signature of it is checked.
func (r *Remote) Checkpoint(ctx context.Context) (*checkpoint.Note, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var body noteBody
	if err := r.call(ctx, http.MethodGet, "/checkpoint", nil, &body); err != nil {
		return nil, err
	}
	return checkpoint.Parse([]byte(body.Note))
}
