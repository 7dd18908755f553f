package progress

import (
	"context"

	"curtsy/storage/mirror"
)

// WhileMirrored shows how far a mirror is, until do returns.
func (v *Display) WhileMirrored(ctx context.Context, p *mirror.Progress, do func() error) error {
	return v.while(ctx, func() work { return mirrored(p) }, do)
}

// mirrored is how far a mirror is: the archive is read first.
func mirrored(p *mirror.Progress) work {
	if total := p.Total.Load(); total > 0 {
		return work{Name: "mirror", Part: "writing", Thing: "URL", Done: p.Written.Load(), Total: total}
	}
	return work{Name: "mirror", Part: "reading the archive", Thing: "URL", Done: p.Read.Load()}
}
