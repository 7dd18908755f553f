package evidence

import (
	"slices"

	"curtsy/storage/warc"
)

// misses notes that the metadata record of an exchange without an answer names one all the same: the request names it
// too, or the metadata record would not have been found to be of it.
func (h *partial) misses(rec *warc.Record) {
	if h.HasAnswer || !h.HasRequest {
		return
	}
	if to := concurrent(rec); len(to) > 0 && !slices.Contains(h.ids, to[0]) && slices.Contains(h.to, to[0]) {
		h.Exchange.LeftOut = to[0]
	}
}
