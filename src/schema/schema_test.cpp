#include "allm/schema.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace allm::schema_test {
namespace {

Schema compiled(std::string_view text, const SchemaOptions& options = {}) {
  auto schema = Schema::compile(Json::parse(text), options);
  EXPECT_TRUE(schema) << text << ": " << (schema ? "" : schema.error().message());
  return schema ? *schema : Schema();
}

// The messages of all errors, one per line.
std::string messages(const Schema& schema, std::string_view instance) {
  const Json value = Json::parse(instance);
  const auto errors = schema.validate(value);
  EXPECT_EQ(schema.accepts(value), errors.empty());
  std::string result;
  for (const SchemaError& error : errors) result += (result.empty() ? "" : "\n") + error.message;
  return result;
}

std::string messages(std::string_view schema, std::string_view instance) {
  return messages(compiled(schema), instance);
}

bool accepts(std::string_view schema, std::string_view instance) { return messages(schema, instance).empty(); }

Error compile_error(std::string_view text, const SchemaOptions& options = {}) {
  auto schema = Schema::compile(Json::parse(text), options);
  EXPECT_FALSE(schema) << text;
  return schema ? validation_error(ValidationError::Reason::invalid_request, {}, "", "compiled") : schema.error();
}

std::string message_of(std::string_view text) { return compile_error(text).message(); }

constexpr std::string_view kTrip = R"({
  "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "units": {"enum": ["metric", "imperial"]},
    "guest": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "stops": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "note": {"type": ["string", "null"]}
  },
  "required": ["city"],
  "additionalProperties": false
})";

TEST(Schema, AcceptsValidInstances) {
  const Schema trip = compiled(kTrip);
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "days": 2})"), "");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "days": 2.0, "units": "metric", "guest": {"name": "Ada", "age": 36},
                               "stops": ["Pisa"], "note": null})"),
            "");
}

TEST(Schema, MessagesSayWhatToRepair) {
  const Schema trip = compiled(kTrip);
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "days": "2"})"), "days: must be integer, got string");
  EXPECT_EQ(messages(trip, R"({"days": 2})"), "missing required property 'city'");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "sky": "blue"})"), "unexpected property 'sky'");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "guest": {"name": 7}})"), "guest.name: must be string, got integer");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "guest": {}})"), "guest: missing required property 'name'");
  EXPECT_EQ(messages(trip, R"({"city": "", "days": 15})"),
            "city: must have at least 1 character, got 0\ndays: must be at most 14, got 15");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "units": "kelvin"})"),
            "units: must be one of \"metric\", \"imperial\", got \"kelvin\"");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "stops": ["a", 1, "c"]})"),
            "stops: must have at most 2 items, got 3\nstops[1]: must be string, got integer");
  EXPECT_EQ(messages(trip, R"({"city": "Rome", "note": 1.5})"), "note: must be string or null, got number");
  EXPECT_EQ(messages(trip, "[]"), "must be object, got array");
}

TEST(Schema, ErrorsHaveTheRuleAndThePath) {
  const auto errors = compiled(kTrip).validate(Json::parse(R"({"city": "Rome", "stops": ["a", 1], "x/y": 1})"));
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].instance_path, (Path{"stops", 1}));
  EXPECT_EQ(errors[0].schema_path, "/properties/stops/items/type");
  EXPECT_EQ(errors[0].keyword, "type");
  EXPECT_EQ(errors[1].instance_path, Path{});
  EXPECT_EQ(errors[1].schema_path, "/additionalProperties");
  const auto referred = compiled(R"({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"minimum": 3}}})").validate(Json(1));
  ASSERT_EQ(referred.size(), 1U);
  EXPECT_EQ(referred[0].schema_path, "/$defs/a~1b/minimum");
}

TEST(Schema, DescribesEveryAssertion) {
  EXPECT_EQ(messages(R"({"const": {"a": 1}})", "2"), R"(must be {"a":1}, got 2)");
  EXPECT_EQ(messages(R"({"exclusiveMinimum": 0})", "0"), "must be greater than 0, got 0");
  EXPECT_EQ(messages(R"({"exclusiveMaximum": 0.5})", "0.5"), "must be less than 0.5, got 0.5");
  EXPECT_EQ(messages(R"({"multipleOf": 0.01})", "0.005"), "must be a multiple of 0.01, got 0.005");
  EXPECT_EQ(messages(R"({"maxLength": 2})", "\"äöü\""), "must have at most 2 characters, got 3");
  EXPECT_EQ(messages(R"({"pattern": "^a"})", "\"b\""), "must match the pattern '^a', got \"b\"");
  EXPECT_EQ(messages(R"({"minItems": 1})", "[]"), "must have at least 1 item, got 0");
  EXPECT_EQ(messages(R"({"uniqueItems": true})", "[1, 2, 1.0]"), "items must be unique, but items 0 and 2 are equal");
  EXPECT_EQ(messages(R"({"contains": {"const": 1}})", "[2]"),
            "must contain at least 1 item that matches the schema in 'contains', got 0");
  EXPECT_EQ(messages(R"({"minProperties": 2})", "{}"), "must have at least 2 properties, got 0");
  EXPECT_EQ(messages(R"({"dependentRequired": {"card": ["address"]}})", R"({"card": 1})"),
            "missing property 'address', which is required beside 'card'");
  EXPECT_EQ(messages(R"({"propertyNames": {"maxLength": 1}})", R"({"ab": 1})"),
            "property name 'ab' is not allowed: must have at most 1 character, got 2");
  EXPECT_EQ(messages(R"({"not": {"type": "null"}})", "null"), "must not match the schema in 'not'");
  EXPECT_EQ(messages(R"({"properties": {"a": false}})", R"({"a": 1})"), "a: no value is allowed here");
  EXPECT_EQ(messages(R"({"prefixItems": [true], "items": false})", "[1, 2]"), "[1]: unexpected item");
  EXPECT_EQ(messages(R"({"properties": {"a": true}, "unevaluatedProperties": false})", R"({"a": 1, "b": 2})"),
            "unexpected property 'b'");
  EXPECT_EQ(messages("false", "1"), "no value is allowed here");
}

TEST(Schema, ExplainsAlternatives) {
  EXPECT_EQ(messages(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", "1"),
            "must be string or null, got integer");
  EXPECT_EQ(messages(R"({"oneOf": [{"minimum": 5}, {"multipleOf": 2}]})", "3"),
            "must match exactly one alternative: (1) must be at least 5, got 3; (2) must be a multiple of 2, got 3");
  EXPECT_EQ(messages(R"({"oneOf": [{"minimum": 5}, {"multipleOf": 2}]})", "6"),
            "must match exactly one alternative, but matches both number 1 and number 2");
  // Only one alternative accepts an object, so the error is about that one.
  EXPECT_EQ(messages(R"({"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]})", "{}"),
            "missing required property 'a'");
}

TEST(Schema, ExplainsTheAlternativeThatAConstantSelects) {
  constexpr std::string_view kShapes = R"({"properties": {"shape": {"oneOf": [
      {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
      {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]}]}}})";
  EXPECT_EQ(messages(kShapes, R"({"shape": {"kind": "square", "side": "2"}})"),
            "shape.side: must be number, got string");
  EXPECT_EQ(messages(kShapes, R"({"shape": {"kind": "square"}})"), "shape: missing required property 'side'");
}

TEST(Schema, ReportsAtMostAsManyErrorsAsAsked) {
  const Schema schema = compiled(R"({"items": {"type": "string"}})", {.max_errors = 3});
  EXPECT_EQ(schema.validate(Json::parse("[1, 2, 3, 4, 5]")).size(), 3U);
  EXPECT_EQ(compiled(R"({"items": false})", {.max_errors = 0}).validate(Json::parse("[1, 2]")).size(), 1U);
}

TEST(Schema, TrivialSchemasAndTheDefaultAcceptEverything) {
  for (const Schema& schema :
       {Schema(), compiled("true"), compiled("{}"), compiled(R"({"title": "x", "format": 5})")}) {
    EXPECT_TRUE(schema.accepts(Json::parse(R"([{"a": null}])")));
  }
}

TEST(Schema, ManyPropertiesAndRequiredNames) {
  Json document = {{"properties", Json::object()}, {"required", Json::array()}, {"additionalProperties", false}};
  Json instance = Json::object();
  for (int i = 0; i < 200; ++i) {
    const std::string name = "field" + std::to_string(i);
    document["properties"][name] = {{"type", "integer"}};
    document["required"].push_back(name);
    instance[name] = i;
  }
  const Schema schema = *Schema::compile(document);
  EXPECT_TRUE(schema.accepts(instance));
  instance["field199"] = "x";
  instance.erase("field100");
  instance["other"] = 1;
  const auto errors = schema.validate(instance);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].message, "field199: must be integer, got string");
  EXPECT_EQ(errors[1].message, "unexpected property 'other'");
  EXPECT_EQ(errors[2].message, "missing required property 'field100'");
}

TEST(Schema, DialectComesFromTheDocument) {
  constexpr std::string_view kTuple =
      R"({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false})";
  EXPECT_TRUE(accepts(kTuple, R"(["a"])"));
  EXPECT_FALSE(accepts(kTuple, R"(["a", 1])"));
  EXPECT_EQ(message_of(R"({"items": [{"type": "string"}]})"),
            "invalid schema at /items: must be a schema, got array; draft 2020-12 writes it as prefixItems");
  EXPECT_TRUE(compile_error(R"({"$schema": "http://json-schema.org/draft-04/schema#"})")
                  .is<ValidationError>(ValidationError::Reason::invalid_schema));
  EXPECT_TRUE(Schema::compile(Json::parse(R"({"$schema": "http://json-schema.org/draft-04/schema#"})"),
                              {.dialect = SchemaOptions::Dialect::draft7}));
}

TEST(Schema, SiblingsOfARefCountOnlyIn202012) {
  const Json document = Json::parse(R"({"$ref": "#/$defs/a", "maximum": 5, "$defs": {"a": {"type": "integer"}}})");
  EXPECT_FALSE(Schema::compile(document)->accepts(Json(6)));
  EXPECT_TRUE(Schema::compile(document, {.dialect = SchemaOptions::Dialect::draft7})->accepts(Json(6)));
}

TEST(Schema, RecursesThroughTheInstance) {
  const Schema tree = compiled(R"({"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}})");
  EXPECT_TRUE(tree.accepts(Json::parse(R"({"children": [{"children": []}, {}]})")));
  EXPECT_EQ(messages(tree, R"({"children": [{"children": [5]}]})"),
            "children[0].children[0]: must be object, got integer");
}

TEST(Schema, OutlivesItsDocumentAndCopies) {
  Schema copy;
  {
    Json document = Json::parse(R"({"enum": ["a", {"b": 1}]})");
    copy = *Schema::compile(document);
  }
  EXPECT_TRUE(copy.accepts(Json::parse(R"({"b": 1.0})")));
  EXPECT_FALSE(copy.accepts(Json("b")));
}

TEST(SchemaCompile, ReportsWhatIsWrongWithItsPath) {
  EXPECT_EQ(message_of("5"), "invalid schema: must be an object or a boolean, got number");
  EXPECT_EQ(message_of(R"({"properties": {"days": {"minimum": "1"}}})"),
            "invalid schema at /properties/days/minimum: must be a number, got string");
  EXPECT_EQ(
      message_of(R"({"type": "int"})"),
      "invalid schema at /type: must be one or a list of null, boolean, integer, number, string, array and object");
  EXPECT_EQ(message_of(R"({"properties": {"a": 5}})"),
            "invalid schema at /properties/a: must be a schema (an object or a boolean), got number");
  EXPECT_EQ(message_of(R"({"required": true})"), "invalid schema at /required: must be an array of strings");
  EXPECT_EQ(message_of(R"({"minLength": -1})"), "invalid schema at /minLength: must be a non-negative integer");
  EXPECT_EQ(message_of(R"({"multipleOf": 0})"), "invalid schema at /multipleOf: must be greater than 0, got 0");
  EXPECT_EQ(message_of(R"_({"pattern": "(?=a)"})_"),
            "invalid schema at /pattern: cannot use the pattern '(?=a)': lookahead is not supported");
  EXPECT_EQ(message_of(R"({"allOf": []})"), "invalid schema at /allOf: must be an array of at least one schema");
}

TEST(SchemaCompile, ReportsEveryErrorWithItsPath) {
  const Error error = compile_error(R"({"properties": {"a": {"type": "int"}, "b": {"allOf": [{"maxItems": "x"}]}}})");
  ASSERT_TRUE(error.is<ValidationError>(ValidationError::Reason::invalid_schema));
  const auto& errors = error.get_if<ValidationError>()->errors;
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0], (FieldError{.path = {"properties", "a", "type"}, .reason = "unknown_type"}));
  EXPECT_EQ(errors[1], (FieldError{.path = {"properties", "b", "allOf", 0, "maxItems"}, .reason = "invalid_type"}));
  EXPECT_TRUE(error.message().ends_with(" (and one more error)"));
}

TEST(SchemaCompile, NamesReferencesWithoutATarget) {
  EXPECT_EQ(message_of(R"({"properties": {"a": {"$ref": "https://example.com/other.json"}}})"),
            "invalid schema at /properties/a/$ref: cannot resolve 'https://example.com/other.json': no schema in this "
            "document has that $id, and remote references are not loaded");
  EXPECT_EQ(message_of(R"({"$ref": "#/$defs/missing"})"),
            "invalid schema at /$ref: cannot resolve '#/$defs/missing': there is no schema at that place");
  EXPECT_EQ(message_of(R"({"$ref": "#missing"})"),
            "invalid schema at /$ref: cannot resolve '#missing': there is no such anchor");
  EXPECT_EQ(message_of(R"({"$ref": "#/title", "title": "x"})"),
            "invalid schema at /$ref: cannot resolve '#/title': there is no schema at that place");
  EXPECT_EQ(compile_error(R"({"$ref": "#/$defs/missing"})").get_if<ValidationError>()->errors.front().reason,
            "unresolved_reference");
}

TEST(SchemaCompile, RefusesIdentifiersThatClash) {
  EXPECT_EQ(message_of(R"({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}})"),
            "invalid schema at /$defs/b/$anchor: 'x' names another schema already");
  EXPECT_EQ(message_of(R"({"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}})"),
            "invalid schema at /$defs/b/$id: 'x' identifies another schema already");
}

TEST(SchemaCompile, ReferencesMayPointToValuesOutsideSchemaKeywords) {
  constexpr std::string_view kShared =
      R"({"$ref": "#/components/schemas/Pet", "components": {"schemas": {
          "Pet": {"properties": {"owner": {"$ref": "#/components/schemas/Owner"}}}, "Owner": {"type": "string"}}}})";
  EXPECT_TRUE(accepts(kShared, R"({"owner": "Ada"})"));
  const auto errors = compiled(kShared).validate(Json::parse(R"({"owner": 1})"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].schema_path, "/components/schemas/Owner/type");
}

TEST(SchemaCompile, RefusesReferencesThatLoopOnTheSameInstance) {
  EXPECT_EQ(message_of(R"({"$ref": "#"})"), "invalid schema: applies itself to the same value without end: # -> #");
  EXPECT_EQ(message_of(R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]},
                                                     "b": {"anyOf": [true, {"$ref": "#/$defs/a"}]}}})"),
            "invalid schema at /$defs/a: applies itself to the same value without end: #/$defs/a -> #/$defs/a/allOf/0 "
            "-> #/$defs/b -> #/$defs/b/anyOf/1 -> #/$defs/a");
  EXPECT_EQ(compile_error(R"({"dependentSchemas": {"a": {"$ref": "#"}}})").get_if<ValidationError>()->errors[0].reason,
            "reference_loop");
  EXPECT_EQ(compile_error(R"({"if": {"not": {"$ref": "#"}}})").get_if<ValidationError>()->errors[0].reason,
            "reference_loop");
}

}  // namespace
}  // namespace allm::schema_test
