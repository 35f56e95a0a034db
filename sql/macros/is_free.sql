-- Whether calls of a provider are nobody's bill, so that they cost 0 whatever tokens they name.
-- A boolean.
-- NULL for NULL. A python or http model may call what is paid: it costs what prices say, else it is not known.
-- Source: the closed list of providers that ask nobody.
create or replace macro is_free(provider) as
provider in ('mock', 'replay');
