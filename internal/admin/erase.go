package admin

import (
	"context"
	"fmt"
	"time"

	"prospector/internal/address"
	"prospector/internal/erasure"
	"prospector/internal/service"
)

// EraseInput names a person. Without Confirmed, Erase only counts.
type EraseInput struct {
	Org       string `json:"org"`
	Email     string `json:"email"`
	Reason    string `json:"reason"`
	Confirmed bool   `json:"confirmed"`
}

// Erased is what an erasure removes, and what it leaves.
type Erased = erasure.Result

// Erase removes a person from an organization and from the catalog.
var Erase = Operation[EraseInput, Erased]{
	name: "erase", patience: erasePatience,
	do: func(ctx context.Context, s *service.Service, in EraseInput) (done Erased, err error) {
		if !address.IsEmail(in.Email) {
			return done, fmt.Errorf("%q is not an email address", in.Email)
		}
		org, err := organization(s, in.Org)
		if err != nil {
			return done, err
		}
		return s.Erasures.Run(ctx, org.ID, erasure.Request{Email: in.Email, Reason: in.Reason, DryRun: !in.Confirmed})
	},
}

// erasePatience is how long an erasure waits for others without a server, each of which rewrites the store file.
const erasePatience = 10 * time.Minute
