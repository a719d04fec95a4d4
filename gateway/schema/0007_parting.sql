-- By whose code an account was joined, and to which account a role was given: both end when that account leaves.
-- Accounts are written as INSTANCE:SENDER. Of what was joined before, the person's first account is taken to have done it.

ALTER TABLE accounts ADD COLUMN giver TEXT;
ALTER TABLE people ADD COLUMN given_to TEXT;

UPDATE accounts SET giver = (
    SELECT f.instance || ':' || f.sender FROM accounts f
    WHERE f.person = accounts.person AND f.code IS NULL ORDER BY f.joined_at, f.instance, f.sender LIMIT 1
) WHERE code IS NOT NULL;
UPDATE people SET given_to = (
    SELECT f.instance || ':' || f.sender FROM accounts f
    WHERE f.person = people.id ORDER BY f.code IS NOT NULL, f.joined_at, f.instance, f.sender LIMIT 1
) WHERE role IS NOT NULL;
