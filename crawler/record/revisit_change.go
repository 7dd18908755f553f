package record

import (
	"net/http"

	"curtsy/frontier"
	"curtsy/storage"
)

// Change says what became of the URL of e since e was archived: by its outcome now, whether a 304 confirmed e, and the
// head and the payload of the answer. It is empty for what comes again, and for what neither then nor now was there.
func (e *Earlier) Change(now frontier.Outcome, confirmed bool, head http.Header, payload [32]byte) storage.Change {
	switch {
	case now == frontier.Gone && e.There():
		return storage.ChangeGone
	case now != frontier.Fetched && now != frontier.Redirected:
		return ""
	case confirmed:
		return storage.ChangeUnchanged
	case !e.There():
		return storage.ChangeNew
	case now == frontier.Redirected && e.Status >= 300 && e.Header.Get("Location") == head.Get("Location"):
		return storage.ChangeUnchanged
	case now == frontier.Fetched && e.Status < 300 && e.HasPayload && e.Payload == payload:
		return storage.ChangeUnchanged
	}
	return storage.ChangeChanged
}
