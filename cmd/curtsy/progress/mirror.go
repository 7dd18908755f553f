package progress

import (
	"context"

	"curtsy/cmd/curtsy/text/screen"
	"curtsy/storage/mirror"
)

// WhileMirrored shows how far a mirror is, until do returns.
func (v *Display) WhileMirrored(ctx context.Context, p *mirror.Progress, do func() error) error {
	return v.while(ctx, func() screen.Work { return mirrored(p) }, do)
}

// mirrored is how far a mirror is: the archive is read first.
func mirrored(p *mirror.Progress) screen.Work {
	if total := p.Total.Load(); total > 0 {
		return screen.Work{Name: "mirror", Part: "writing", Thing: "URL", Done: p.Written.Load(), Total: total}
	}
	return screen.Work{Name: "mirror", Part: "reading the archive", Thing: "URL", Done: p.Read.Load()}
}
