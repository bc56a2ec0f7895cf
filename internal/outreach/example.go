package outreach

import "prospector/internal/record"

// The examples tell the same story as those of the crm records: the same morning, the same people.
var (
	audienceExample = record.Example[Audience](`{
		"id": "019cd71d-25a8-7c12-9a50-0d6b2f7f9e31",
		"created_at": "2026-03-10T09:38:57.512Z",
		"updated_at": "2026-03-10T10:24:05.811Z",
		"name": "Robotics, operations",
		"type": "static",
		"filters": null,
		"search": null,
		"status": "active",
		"contact_count": 240
	}`)

	templateExample = record.Example[Template](`{
		"id": "019cd71a-8f4e-7b05-8a77-5f3d7f5f2c10",
		"created_at": "2026-03-10T09:36:07.950Z",
		"updated_at": "2026-03-10T10:22:48.120Z",
		"name": "Warehouse introduction",
		"kind": "USER_GENERATED",
		"status": "ACTIVE",
		"description": "A first email, and a call when nobody has answered.",
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"is_default": false,
		"archived_at": null,
		"steps": [
			{
				"id": "019cd71a-8f4e-7b06-9c31-2f9a8d04b7e2", "type": "auto_email", "index": 0, "title": "Introduction", "day": 0, "hour": 9,
				"subject": "Packing at {{recipient.company}}", "message": "Hello {{recipient.first_name}},\n\n[[block:offer]]\n\n{{sender.first_name}}", "gift_id": null
			},
			{
				"id": "019cd71a-8f4e-7b07-8d5e-6b1c40f2a9d3", "type": "call", "index": 1, "title": "Call", "day": 0, "hour": 14,
				"subject": null, "message": "Ask about the second warehouse.", "gift_id": null
			}
		],
		"transitions": [
			{
				"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES",
				"pre_check_time_unit": "business_days", "pre_check_delay": 2, "post_check_time_unit": null, "post_check_delay": 0, "require_all": false
			}
		],
		"blocks": {"offer": {"name": "Offer", "block_type": "MANUAL", "content": "our robots pack a parcel in four seconds."}}
	}`)

	campaignExample = record.Example[Campaign](`{
		"id": "019cd720-1c3f-7d88-b1c4-7e0a9d5b6f42",
		"created_at": "2026-03-10T09:42:11.711Z",
		"updated_at": "2026-03-10T10:26:19.404Z",
		"name": "Second warehouses",
		"status": "active",
		"prioritized": false,
		"end_date": "2026-06-30",
		"template_id": "019cd71a-8f4e-7b05-8a77-5f3d7f5f2c10",
		"template_name": "Warehouse introduction",
		"audiences": [{"id": "019cd71d-25a8-7c12-9a50-0d6b2f7f9e31", "name": "Robotics, operations"}],
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"missing_values": "hold",
		"admit": "ask",
		"newcomers": 0,
		"transport": "smtp",
		"held": null
	}`)
)

// heldCampaign returns the example while it is held.
func heldCampaign() *Campaign {
	c := campaignExample
	c.Held = &Hold{
		Reason: HeldSenderRefused, Since: c.UpdatedAt,
		Detail: "The mail server refused five messages in a row: 550 5.7.1 Sender not allowed",
	}
	return &c
}

// campaignWithNewcomers returns the example while people await confirmation.
func campaignWithNewcomers() *Campaign {
	c := campaignExample
	c.Newcomers = 160
	return &c
}

// campaignAs returns the example with another status.
func campaignAs(s CampaignStatus) *Campaign {
	c := campaignExample
	c.Status = s
	return &c
}
